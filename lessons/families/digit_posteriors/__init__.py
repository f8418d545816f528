"""Posteriors of networks that read digits: one face for five ways to get them, trained once a process and shared.

`networks` in weight space is what every way ends in: R networks of one shape, drawn from the posterior or its stand-in.
From images they make class probabilities (R, m, classes), which `engine.scores` takes apart.

    nuts      NUTS over all weights of a small network on principal components of the first few hundred images
    lbbnn     spike and slab over every weight (Hubin and Storvik 2019)
    dense     mean-field Gaussian
    dropout   one network, its hidden units dropped out at random, also when it predicts
    ensemble  most probable weights found from different starts, one member after another
"""
