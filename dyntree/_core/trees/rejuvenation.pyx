"""A cloud set aside while fresh particles grow in its place."""
import numpy as np

from libc.string cimport memcpy


cdef class Rejuvenation:
    """What a cloud was before it grows fresh particles, to go back to or to join."""

    def __init__(self, Particles cloud):
        cdef int32_t k
        self.cloud = cloud
        self.n_particles = cloud.n_particles
        self.time = cloud.time
        self.n_degenerate = cloud.n_degenerate
        self.random_state = cloud.source.save()
        self.roots = np.empty(cloud.n_particles, dtype=np.int32)
        for k in range(cloud.n_particles):
            self.roots[k] = cloud.roots[k]
        self.order = np.empty(cloud.pool.n_rows, dtype=np.int32)
        for k in range(cloud.pool.n_rows):
            self.order[k] = cloud.pool.order[k]
        self.X = cloud.pool.rows()[0]

    cdef void begin(self, const int64_t[::1] destinations) noexcept:
        """Set the particles aside and bring the rows into their new order."""
        cdef Py_ssize_t k
        for k in range(self.order.shape[0]):
            self.cloud.pool.order[destinations[k]] = self.order[k]
        self.cloud.n_particles = 0

    cdef int undo(self) except -1:
        """Drop the fresh particles and go back to what was."""
        cdef Particles c = self.cloud
        cdef int32_t k
        for k in range(c.n_particles):
            c.arena.drop(c.roots[k])
        for k in range(self.order.shape[0]):
            c.pool.order[k] = self.order[k]
            memcpy(c.pool.x(self.order[k]), &self.X[k, 0],
                   c.pool.n_features * sizeof(double))
        for k in range(self.n_particles):
            c.roots[k] = self.roots[k]
        c.n_particles = self.n_particles
        c.time = self.time
        c.n_degenerate = self.n_degenerate
        c.source.restore(self.random_state)
        return 0

    cdef void join(self) noexcept:
        """Put the particles of before in front of the fresh ones."""
        cdef Particles c = self.cloud
        cdef int32_t k
        for k in range(c.n_particles - 1, -1, -1):
            c.roots[self.n_particles + k] = c.roots[k]
        for k in range(self.n_particles):
            c.roots[k] = self.roots[k]
        c.n_particles += self.n_particles
