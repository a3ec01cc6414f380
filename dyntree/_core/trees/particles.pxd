"""Particles and their step.

A step is weigh, resample, adopt, add, decide, apply. Reference counts change in adopt,
apply, collapse and rejuvenation, all serial; deciding reads and draws only.
"""
from libc.stdint cimport int32_t, int64_t

from dyntree._core.trees.arena cimport Arena
from dyntree._core.trees.leaf cimport LeafModel
from dyntree._core.trees.moves cimport Moves
from dyntree._core.trees.filter_rules cimport Numerics
from dyntree._core.trees.fresh_trees cimport FreshTrees
from dyntree._core.trees.gap_filler cimport GapFiller
from dyntree._core.trees.gap_walk cimport GapWalk
from dyntree._core.trees.pool cimport ActivePool
from dyntree._core.rng cimport RandomSource, RandomStream
from dyntree._core.trees.tree cimport Path
from dyntree._core.trees.nodes cimport Entry, Leaf, Move, Node
from dyntree._core.types cimport handle_t, slot_t

cdef enum StepStatus:
    LEARNED = 0
    NOT_LEARNED = 1         # there was no memory, and no leaf has the row
    MOVES_LEFT_OUT = 2      # the row was learned; moves that found no memory were not made

# how many of the last rows lay outside, one after the other, once another has come; a
# change is remembered over some rows inside
cdef int32_t run_after(int32_t n_outside, bint is_outside) noexcept nogil

cdef class Particles:
    cdef Arena arena
    cdef ActivePool pool
    cdef LeafModel leaf_model
    cdef GapFiller filler                   # of linear leaves under native rules, or None
    cdef Numerics numerics
    cdef Moves moves
    cdef readonly RandomSource source
    cdef readonly dict options              # as given, for headers; no rule reads them
    cdef readonly int32_t n_particles       # roots there are now
    cdef readonly int32_t n_target          # roots after the next resampling
    cdef readonly int64_t n_retired
    cdef readonly int64_t n_degenerate      # steps whose densities were all zero or NaN
    cdef readonly bint fades                # rows have retired with forgetting
    cdef readonly double log_evidence       # sum of log predictive densities
    cdef readonly double extra_told         # frequencies beyond 1 while responses had no unit
    cdef readonly double next_look          # rows seen at which the prior is looked at
    cdef readonly int64_t last_look         # rows seen at the last look
    cdef handle_t *roots
    cdef readonly FreshTrees fresh          # learn by steps while they change places
    cdef int64_t time
    # rows far outside of their predictive law
    cdef readonly bint is_robust            # they count with less weight
    cdef readonly int32_t n_outside         # of the last rows, those that all lay outside
    cdef readonly double last_share         # of its weight that the last row counted with
    cdef bint judges                        # a step in which a row is learned first
    cdef bint is_outside                    # the row that is learned
    cdef bint is_new                        # the same: no tree has learned it yet
    cdef int64_t stamp
    cdef object credited                    # what the leaves' credit is of, if it is known
    cdef int32_t max_depth
    cdef object report_error                # what the last step's report raised, or None
    # scratch of one step
    cdef int32_t room                       # particles the arrays below have room for
    cdef Entry *entries
    cdef int32_t n_entries
    cdef int32_t *entry_of                  # each particle's
    cdef Entry *entries_before              # those of the cloud before resampling
    cdef int32_t *entry_before
    cdef int32_t *ancestors
    cdef handle_t *next_roots
    cdef double *weights
    cdef double *mixed                      # log densities of a row over both sides of splits
    cdef bint has_gap                       # whether the row that is learned has a gap
    cdef double *work
    cdef Move *decisions
    cdef double *row_before                 # (n_features,)
    cdef Path path
    cdef int32_t path_room

    cdef int make_room(self, int32_t n_particles) except -1
    cdef int reserve(self, int32_t n_rows) except -1
    cdef void exchange(self) noexcept nogil
    # of the particles, then of the fresh trees
    cdef handle_t root(self, int32_t i) noexcept nogil
    cdef int32_t route(self, handle_t root, const double *x) noexcept nogil
    cdef double row_density(self, Leaf *leaf, slot_t s) noexcept nogil
    cdef int weigh(self, slot_t s) noexcept nogil
    # a row that misses values
    cdef list part(self, slot_t s)
    cdef double mixed_density(self, GapWalk walk, handle_t h, slot_t s) noexcept nogil
    cdef int part_below(self, GapWalk walk, handle_t h, slot_t s, RandomStream *stream, dict sides, list splits) except -1
    cdef bint draws_left(self, GapWalk walk, const Node *node, slot_t s, RandomStream *stream) noexcept
    cdef void reopen(self, list splits) noexcept
    cdef void judge(self, slot_t s) noexcept nogil
    cdef void fix_xi(self, slot_t s) noexcept nogil
    cdef int32_t resample(self, double *log_mean, double *variance) noexcept nogil
    cdef int32_t enter(self, handle_t h, handle_t parent) noexcept nogil
    cdef void regroup(self) noexcept nogil
    cdef int add_row(self, slot_t s, bint weighed) noexcept nogil
    cdef int apply(self, slot_t s) noexcept nogil
    cdef handle_t moved(self, int32_t particle, slot_t s) noexcept nogil
    cdef void append_row(self, Leaf *leaf, slot_t s) noexcept nogil
    # learn a row that has been put in the pool; raise_failure raises what went wrong
    cdef StepStatus step(self, slot_t s, double *log_mean, int64_t every, object report) noexcept
    cdef int raise_failure(self, StepStatus status) except -1
    cdef void let_fade(self) noexcept
    cdef double gap_share(self, int32_t j) noexcept nogil
    cdef int start_trees(self, int32_t n_rows) except -1
    cdef int32_t draw_survivors(self, RandomStream *stream, double *log_mean, double *variance) noexcept nogil
