"""Virtual machines that a platform's hosts are: what is wanted, what is there, and how the one becomes the other.

``spec.machine_layout`` says what a platform's file wants, ``switch`` which steps lead there, ``provider`` what a
hypervisor must be able to do, and ``vsphere`` can do it. Only modules of that name know of a hypervisor.
"""
