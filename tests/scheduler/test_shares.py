"""How much of the server each caller has had."""

from ollama_tts.scheduler.shares import TURN_S, Shares


def test_what_is_held_counts_while_it_is_held_and_afterwards() -> None:
    shares = Shares()
    shares.come("a", 0.0)
    assert shares.share_s("a", 0.0) == 0.0
    shares.begin("a", 0, 10.0)
    assert shares.share_s("a", 13.0) == 3.0 + TURN_S
    shares.end("a", 10.0, 15.0)
    assert shares.share_s("a", 99.0) == 5.0


def test_who_comes_anew_begins_where_the_least_served_stands() -> None:
    shares = Shares()
    shares.come("alone", 0.0)
    shares.begin("alone", 0, 0.0)
    shares.come("new", 1000.0)
    assert shares.share_s("new", 1000.0) == 1000.0
    shares.come("third", 2000.0)
    assert shares.share_s("third", 2000.0) == 1000.0, "the least served waits still"


def test_leaving_and_coming_back_wipes_nothing_out() -> None:
    shares = Shares()
    shares.come("other", 0.0)
    shares.come("greedy", 0.0)
    shares.begin("greedy", 0, 0.0)
    shares.end("greedy", 0.0, 50.0)
    shares.go("greedy")
    shares.come("greedy", 51.0)
    assert shares.share_s("greedy", 51.0) == 50.0


def test_accounts_that_make_no_difference_are_dropped() -> None:
    shares = Shares()
    for number in range(1000):
        shares.come(str(number), float(number))
        shares.begin(str(number), 0, float(number))
        shares.end(str(number), float(number), number + 0.5)
        shares.go(str(number))
    assert len(shares) <= 2


def test_when_a_priority_was_served_last() -> None:
    shares = Shares()
    shares.come("a", 0.0)
    assert shares.served_s("a", 1) == float("-inf")
    shares.begin("a", 1, 7.0)
    assert shares.served_s("a", 1) == 7.0
    assert shares.served_s("a", 0) == float("-inf")
