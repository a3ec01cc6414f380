"""R's stream, and samplers that draw what R and the oracle draw."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import stats

from dyntree._core.rng import CounterSource, RSource
from tests.oracle import stream
from tests.oracle.philox import philox
from tests.probes import core as probe

# R 4.2: set.seed(s); runif(5), rnorm(5), rexp(5), to the digits R prints
UNIFORMS = {
    1: (0.2655087, 0.3721239, 0.5728534, 0.9082078, 0.2016819),
    42: (0.9148060, 0.9370754, 0.2861395, 0.8304476, 0.6417455),
    123: (0.2875775, 0.7883051, 0.4089769, 0.8830174, 0.9404673),
}
NORMALS = {
    1: (-0.6264538, 0.1836433, -0.8356286, 1.5952808, 0.3295078),
    123: (-0.56047565, -0.23017749, 1.55870831, 0.07050839, 0.12928774),
}
EXPONENTIALS = {
    1: (0.7551818, 1.1816428, 0.1457067, 0.1397953, 0.4360686),
    123: (0.84345726, 0.57661027, 1.32905487, 0.03157736, 0.05621098),
}

# R 4.2: RNGkind("L'Ecuyer-CMRG"); set.seed(s); .Random.seed, runif(3), .Random.seed
LECUYER = {
    1: (
        (1280795612, -169270483, -442010614, -603558397, -222347416, 1489374793),
        (0.6775328286287442, 0.42734572288764422, 0.9103805304875483),
    ),
    42: (
        (-2133391687, 507561766, 1260545903, 1362917092, -1772566379, -1344458670),
        (0.17384558454153168, 0.55474009676509084, 0.48337712221370116),
    ),
    -5: (
        (1466166878, -58808505, 1194430172, 365728301, 1785353994, -191023869),
        (0.13080776534229871, 0.7714701458964941, 0.12538818644377003),
    ),
}
KINDS = ("Mersenne-Twister", "L'Ecuyer-CMRG")

# A sampler passes unless Kolmogorov and Smirnov's p-value is below the rate: of a
# million seeds one fails a right sampler. 20000 draws fail distributions further apart
# than 0.03.
FALSE_FAIL, N_DRAWS = 1e-6, 20_000

SAMPLERS = [
    ("uniform", (-1.0, 3.0), stats.uniform(-1.0, 4.0)),
    ("normal", (), stats.norm()),
    ("exponential", (), stats.expon()),
    *[
        ("gamma", (shape, 2.0), stats.gamma(shape, scale=2.0))
        for shape in (0.2, 0.9, 1.0, 3.0, 5.0, 10.0, 50.0)
    ],
    *[("student", (df,), stats.t(df)) for df in (0.7, 2.0, 3.5, 30.0)],
]


def draws(source: RSource, n: int, kind: str, *parameters: float) -> list[float]:
    return [probe.draw(source, kind, *parameters) for _ in range(n)]


@pytest.mark.parametrize("seed", UNIFORMS)
def test_uniforms_are_those_of_r(seed: int) -> None:
    assert RSource(seed).uniforms(5).round(7).tolist() == list(UNIFORMS[seed])


@pytest.mark.parametrize("seed", NORMALS)
def test_normals_are_those_of_r(seed: int) -> None:
    got = draws(RSource(seed), 5, "normal")
    assert got == pytest.approx(NORMALS[seed], abs=5e-8)


@pytest.mark.parametrize("seed", EXPONENTIALS)
def test_exponentials_are_those_of_r(seed: int) -> None:
    got = draws(RSource(seed), 5, "exponential")
    assert got == pytest.approx(EXPONENTIALS[seed], abs=5e-8)


@pytest.mark.parametrize("seed", LECUYER)
def test_the_generator_of_parallel_workers_is_that_of_r(seed: int) -> None:
    source, (words, uniforms) = RSource(seed, "L'Ecuyer-CMRG"), LECUYER[seed]
    assert source.state.tolist() == [10407, *words]
    assert source.state.dtype == np.int32
    assert source.uniforms(3).tolist() == list(uniforms)


def test_state_is_that_of_r() -> None:
    seed = RSource(1).state  # R: set.seed(1); .Random.seed[1:5]
    assert seed.dtype == np.int32
    assert seed[:5].tolist() == [10403, 624, -169270483, -442010614, -603558397]


def test_words_are_those_of_another_mersenne_twister() -> None:
    source = RSource(5)
    key = source.state[2:].view(np.uint32)
    twin = np.random.MT19937()
    twin.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": 624}}
    expected = twin.random_raw(2000) * 2.3283064365386963e-10
    assert source.uniforms(2000).tolist() == expected.tolist()


def untempered(output: int) -> int:
    """The word that becomes `output`."""
    word = output ^ (output >> 18)
    word ^= (word << 15) & 0xEFC60000
    once = word
    for _ in range(5):
        word = once ^ ((word << 7) & 0x9D2C5680)
    once = word
    for _ in range(3):
        word = once ^ (word >> 11)
    return word


@pytest.mark.parametrize("output", [0, 1, 2**31, 2**32 - 2, 2**32 - 1])
def test_uniforms_lie_inside_the_unit_interval(output: int) -> None:
    state = RSource(1).state
    state[1] = 0
    state[2:3].view(np.uint32)[0] = untempered(output)
    half_step = 0.5 * 2.328306437080797e-10
    expected = np.clip(output * 2.3283064365386963e-10, half_step, 1.0 - half_step)
    assert RSource.from_state(state).uniform() == expected
    assert 0.0 < expected < 1.0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [0, 1, 623, 624, 625, 1300])
def test_position_and_count_follow_the_draws(n: int, kind: str) -> None:
    source, oracle = RSource(3, kind), stream.RSource(3, kind)
    assert (source.position, source.n_draws) == (oracle.position, 0)
    assert source.kind == oracle.kind == kind
    assert source.uniforms(n).tolist() == oracle.uniforms(n).tolist()
    assert (source.position, source.n_draws) == (oracle.position, n)
    assert source.state.tolist() == oracle.state.tolist()


def test_peek_shows_the_next_draw_and_leaves_it() -> None:
    source = RSource(9)
    seen = source.peek()
    assert source.n_draws == 0
    assert source.uniform() == seen


@pytest.mark.parametrize("kind", KINDS)
def test_state_goes_round(kind: str) -> None:
    source = RSource(2, kind)
    source.uniforms(700)
    again = RSource.from_state(source.state.tolist())
    assert (again.n_draws, again.position) == (0, source.position)
    assert again.uniforms(700).tolist() == source.uniforms(700).tolist()


@pytest.mark.parametrize("way", [RSource.copy, lambda s: pickle.loads(pickle.dumps(s))])
@pytest.mark.parametrize("kind", KINDS)
def test_copies_go_on_alike_and_apart(way, kind: str) -> None:
    source = RSource(2, kind)
    source.uniforms(10)
    other = way(source)
    assert (other.n_draws, other.position) == (10, source.position)
    expected = other.copy().uniforms(5).tolist()
    source.uniforms(700)
    assert other.uniforms(5).tolist() == expected


def test_restore_goes_back() -> None:
    source = RSource(2)
    saved = source.save()
    first = source.uniforms(800).tolist()
    source.restore(saved)
    assert source.n_draws == 0
    assert source.uniforms(800).tolist() == first


@pytest.mark.parametrize(("seed", "same"), [(-1, 2**32 - 1), (2**32 + 7, 7), (1.0, 1)])
def test_seeds_count_modulo_the_word(seed: float, same: int) -> None:
    assert RSource(seed).state.tolist() == RSource(same).state.tolist()


def changed(**entries: int) -> np.ndarray:
    state = RSource(1).state
    for place, value in entries.items():
        state[int(place[1:])] = value
    return state


@pytest.mark.parametrize(
    "state",
    [
        [],
        5,
        np.r_[np.int64(10403), 2**40, np.ones(624, dtype=np.int64)],
        RSource(1).state[:-1],
        RSource(1).state.astype(float),
        changed(_0=10402),
        changed(_1=-1),
        changed(_1=625),
        RSource(1, KINDS[1]).state[:-1],
        np.int32([10407, 1, 2, 3, 0, 0, 0]),
        np.int32([10407, 0, 0, 0, 1, 2, 3]),
        np.int32([10407, 1, 2, -1, 1, 2, 3]),  # 2**32 - 1, not below the modulus
        np.int32([10407, 1, 2, 3, 1, 2, -20000]),
    ],
)
def test_what_is_no_state_is_refused(state) -> None:
    with pytest.raises(ValueError, match=r"state must|of state must"):
        RSource.from_state(state)


@pytest.mark.parametrize(("kind", "parameters", "law"), SAMPLERS)
def test_samplers_follow_their_law(kind: str, parameters: tuple, law) -> None:
    got = draws(RSource(11), N_DRAWS, kind, *parameters)
    assert stats.kstest(got, law.cdf).pvalue > FALSE_FAIL


ORACLE = {
    "normal": stream.normal,
    "exponential": stream.exponential,
    "gamma": stream.gamma,
    "student": stream.student,
}


@pytest.mark.parametrize(
    ("kind", "parameters"), [(k, p) for k, p, _ in SAMPLERS if k in ORACLE]
)
def test_samplers_draw_what_the_oracle_draws(kind: str, parameters: tuple) -> None:
    source, oracle = RSource(4), stream.RSource(4)
    for _ in range(2000):
        expected = ORACLE[kind](oracle, *parameters)
        assert probe.draw(source, kind, *parameters) == expected
        assert source.n_draws == oracle.n_draws


@pytest.mark.parametrize("df", [0.0, -1.0, np.nan])
def test_no_degrees_of_freedom_no_draw(df: float) -> None:
    source = RSource(1)
    assert np.isnan(probe.draw(source, "student", df))
    assert source.n_draws == 0


def test_a_student_with_infinite_df_is_normal() -> None:
    source = RSource(1)
    assert probe.draw(source, "student", np.inf) == probe.draw(RSource(1), "normal")
    assert source.n_draws == 2


def test_an_interval_without_width_takes_no_draw() -> None:
    source = RSource(1)
    assert probe.draw(source, "uniform", 0.3, 0.3) == 0.3
    assert source.n_draws == 0


# ---------------------------------------------------------------- by coordinate
def test_the_oracle_meets_a_published_answer() -> None:
    """Of Random123's known answers: counter and key zero."""
    assert philox(0, 0, 0) == (0xCA00A0459843D731, 0x66C24222C9A845B5)


@pytest.mark.parametrize("seed", [0, 7, 2**63 + 5])
def test_draws_by_coordinate_take_both_words_of_a_call(seed: int) -> None:
    source = CounterSource(seed)
    for time in range(3):  # each call of `uniforms` is a step of the choosing stream
        words = [w for k in (0, 2, 4) for w in philox(seed, time, (3 << 28) + k)]
        expected = [((w >> 11) + 0.5) * 2.0**-53 for w in words[:5]]
        assert source.uniforms(5).tolist() == expected
