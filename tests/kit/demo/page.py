from app.kit.frame import show
from app.kit.visit import enter
from tests.kit.demo.lesson import DEMO

enter(DEMO.slug)
show(DEMO)
