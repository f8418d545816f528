"""What an operator needs of a server: how it is put together, whether it is well, what it counts, what it writes into
its log, and several processes behind one door. Lessons know nothing of it.
"""
