//! The machines with one rule off, by name. Only the checker has them.

use super::bounds::ConnectionBounds;
use super::credits::CreditModel;
use super::handshake::HandshakeModel;
use super::order::OrderModel;
use crate::explore::Limits;
use crate::machine;
use crate::outcome::Outcome;
use carrousel_connection::{CreditRules, HandshakeRules, OrderRules, Rules};

/// The name of the set of rules, in the register.
pub const SET: &str = "connection";

/// A rule of the driver: it ignores a peer that it has given up.
const GIVEN_UP_STAYS: &str = "GIVEN_UP_STAYS";
/// A rule of the driver: with nothing else to do, it posts all buffers again that were read.
const IDLE_POSTS_ALL: &str = "IDLE_POSTS_ALL";
/// A rule of the driver: it gives back the credit of an early packet when its turn has come.
const CREDIT_AT_ITS_TURN: &str = "CREDIT_AT_ITS_TURN";

macro_rules! without {
    (
        handshake { $($handshake:ident $handshake_rule:ident;)* }
        credits { $($credits:ident $credit_rule:ident;)* }
        order { $($order:ident $order_rule:ident;)* }
    ) => {
        $(
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            enum $handshake {}
            impl HandshakeRules for $handshake {
                const $handshake_rule: bool = false;
            }
        )*
        $(
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            enum $credits {}
            impl CreditRules for $credits {
                const $credit_rule: bool = false;
            }
        )*
        $(
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            enum $order {}
            impl OrderRules for $order {
                const $order_rule: bool = false;
            }
        )*

        /// The rules that can be switched off.
        pub const RULES: &[&str] = &[
            $(stringify!($handshake_rule),)*
            GIVEN_UP_STAYS,
            $(stringify!($credit_rule),)*
            IDLE_POSTS_ALL,
            $(stringify!($order_rule),)*
            CREDIT_AT_ITS_TURN,
        ];

        /// Explores all within `bounds` with a rule off. None if the machine has no such rule.
        pub fn explore_without(rule: &str, bounds: ConnectionBounds, limits: &Limits<'_>) -> Option<Outcome> {
            match bounds {
                ConnectionBounds::Handshake(bounds) => {
                    $(
                        if rule == stringify!($handshake_rule) {
                            return Some(machine::explore(HandshakeModel::<$handshake>::new(bounds, false), limits));
                        }
                    )*
                    (rule == GIVEN_UP_STAYS).then(|| machine::explore(HandshakeModel::<Rules>::new(bounds, true), limits))
                }
                ConnectionBounds::Credits(bounds) => {
                    $(
                        if rule == stringify!($credit_rule) {
                            return Some(machine::explore(CreditModel::<$credits>::new(bounds, false), limits));
                        }
                    )*
                    (rule == IDLE_POSTS_ALL).then(|| machine::explore(CreditModel::<Rules>::new(bounds, true), limits))
                }
                ConnectionBounds::Order(bounds) => {
                    $(
                        if rule == stringify!($order_rule) {
                            return Some(machine::explore(OrderModel::<$order>::new(bounds, false), limits));
                        }
                    )*
                    (rule == CREDIT_AT_ITS_TURN).then(|| machine::explore(OrderModel::<Rules>::new(bounds, true), limits))
                }
            }
        }
    };
}

without! {
    handshake {
        WithoutTellingAgain TELL_AGAIN;
        WithoutAnswers ANSWER_ALWAYS;
        WithoutHeard UP_WHEN_HEARD;
        WithoutOnce CONNECT_ONCE;
        WithoutWord PACKET_IS_WORD;
    }
    credits {
        WithoutGivingBack GIVE_BACK_ALONE;
        WithoutFreeGiving GIVING_IS_FREE;
        WithoutLimit SPEND_WHAT_THERE_IS;
    }
    order {
        WithoutTurns WAIT_FOR_TURN;
        WithoutNext WRITE_TAKES_NEXT;
    }
}

/// Explores all within `bounds`, with the rules as they are in production.
pub fn explore(bounds: ConnectionBounds, limits: &Limits<'_>) -> Outcome {
    match bounds {
        ConnectionBounds::Handshake(bounds) => {
            machine::explore(HandshakeModel::<Rules>::new(bounds, false), limits)
        }
        ConnectionBounds::Credits(bounds) => {
            machine::explore(CreditModel::<Rules>::new(bounds, false), limits)
        }
        ConnectionBounds::Order(bounds) => machine::explore(OrderModel::<Rules>::new(bounds, false), limits),
    }
}
