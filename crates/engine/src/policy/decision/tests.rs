use super::*;

#[test]
fn each_class_has_its_own_decision_in_one_byte() {
    assert_eq!(size_of::<Decisions>(), 1);
    let mixed = Decisions::ALLOW.with(1, Decision::Hide).with(3, Decision::Ask);
    let of = |class| mixed.of(PolicyClass(class));
    assert_eq!(
        [of(0), of(1), of(2), of(3)],
        [Decision::Allow, Decision::Hide, Decision::Allow, Decision::Ask]
    );
    assert!(!mixed.hides_from_all() && Decisions::HIDE.hides_from_all());
    let hidden = mixed.hidden_from().and(Decisions::ALLOW.hidden_from());
    assert_eq!([0, 1, 2, 3].map(|class| hidden.has(PolicyClass(class))), [false, true, false, false]);
    for decision in [Decision::Allow, Decision::Hide, Decision::Ask] {
        assert_eq!(Decisions::of_all(decision).of(PolicyClass(2)), decision);
    }
}
