//! Values of a user's types.

use clearway_codec::Named;

mod by_serde {
    use clearway_codec::{Serde, Value};
    use proptest::prelude::*;
    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::{hold, text};

    #[derive(Serialize, Deserialize, PartialEq, Clone, Debug)]
    struct Order {
        name: String,
        count: Option<i64>,
    }

    impl Named for Order {
        const NAME: &'static str = "order";
        const VERSION: u32 = 3;
    }

    #[test]
    fn serde_value_comes_back_alone_and_in_a_tuple() {
        type Two = (Serde<Order>, Serde<Order>);
        hold((text(), prop::option::of(any::<i64>())), |(name, count)| {
            let order = Order { name, count };
            assert_eq!(Serde::<Order>::decode(&Serde::<Order>::encode(&order)).unwrap(), order);
            let two = Two::encode(&(order.clone(), &order));
            assert_eq!(Two::decode(&two).unwrap(), (order.clone(), order));
        });
        assert_eq!(Two::layout(), "(serde<order,3>,serde<order,3>)");
    }

    #[test]
    fn serde_value_with_bytes_behind_it_is_refused() {
        let mut bytes = Serde::<Order>::encode(&Order { name: "a".to_string(), count: None });
        bytes.push(0);
        let error = Serde::<Order>::decode(&bytes).unwrap_err();
        assert_eq!((error.expected(), error.at()), ("the end", 3));
        let error = <(u8, Serde<Order>)>::decode(&[7, 9, 9]).unwrap_err();
        assert_eq!((error.expected(), error.at()), ("a value that serde can read", 1));
    }

    #[test]
    fn arbitrary_bytes_are_read_as_a_serde_value_without_a_panic() {
        hold(any::<Vec<u8>>(), |bytes| {
            if let Ok(order) = Serde::<Order>::decode(&bytes) {
                let again = Serde::<Order>::encode(&order);
                assert_eq!(Serde::<Order>::decode(&again).unwrap(), order);
            }
        });
    }
}

mod in_place {
    use clearway_codec::{Fixed, Value};
    use zerocopy::{
        Immutable, IntoBytes, KnownLayout, TryFromBytes, Unaligned, little_endian::U32,
    };

    use super::*;

    #[derive(TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, PartialEq, Debug)]
    #[repr(C)]
    struct Seat {
        row: U32,
        taken: bool,
    }

    impl Named for Seat {
        const NAME: &'static str = "seat";
        const VERSION: u32 = 1;
    }

    #[test]
    fn structure_is_read_in_place() {
        let bytes = <(u8, Fixed<Seat>)>::encode(&(7, Seat { row: 258.into(), taken: true }));
        assert_eq!(bytes, [7, 2, 1, 0, 0, 1]);
        let (_, seat) = <(u8, Fixed<Seat>)>::decode(&bytes).unwrap();
        assert_eq!(seat, &Seat { row: 258.into(), taken: true });
        assert_eq!(seat.as_bytes().as_ptr(), bytes[1..].as_ptr());
        assert_eq!(<(u8, Fixed<Seat>)>::layout(), "(u8,fixed<seat,1,5>)");
    }

    #[test]
    fn structure_of_other_bytes_is_refused() {
        for bytes in [&[2, 1, 0, 0][..], &[2, 1, 0, 0, 2], &[2, 1, 0, 0, 1, 0]] {
            let error = Fixed::<Seat>::decode(bytes).unwrap_err();
            assert_eq!(error.at(), if bytes.len() == 6 { 5 } else { 0 });
        }
    }
}
