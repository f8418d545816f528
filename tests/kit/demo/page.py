from app.kit.frame import show
from tests.kit.demo.lesson import DEMO

show(DEMO)
