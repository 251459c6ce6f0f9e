//! The bytes of the rows: all columns of the specification (clause 1.3) that are not in the key.
//!
//! Money is in cents, rates are in ten-thousandths, times are in microseconds since 1970. Texts of
//! up to 24 characters have a fixed place and are padded with spaces; the one longer text of a row
//! stands last with the length it has. A null is a zero: no carrier has the number 0, and nothing
//! was delivered in 1970. New-order rows and index entries are all key and have empty rows.

use super::fields::{Field, Tail, Text};

/// Two streets (20 bytes each), city (20), state (2) and postal code (9).
pub(crate) type Address = Text<71>;

pub(crate) mod warehouse {
    use super::*;
    pub(crate) const TAX: Field<u32> = Field::at(0);
    pub(crate) const YTD: Field<i64> = Field::at(TAX.end());
    pub(crate) const NAME: Text<10> = Text::at(YTD.end());
    pub(crate) const ADDRESS: Address = Text::at(NAME.end());
    pub(crate) const LEN: usize = ADDRESS.end();
}

pub(crate) mod district {
    use super::*;
    pub(crate) const NEXT_ORDER: Field<u32> = Field::at(0);
    pub(crate) const TAX: Field<u32> = Field::at(NEXT_ORDER.end());
    pub(crate) const YTD: Field<i64> = Field::at(TAX.end());
    pub(crate) const NAME: Text<10> = Text::at(YTD.end());
    pub(crate) const ADDRESS: Address = Text::at(NAME.end());
    pub(crate) const LEN: usize = ADDRESS.end();
}

pub(crate) mod customer {
    use super::*;
    pub(crate) const BALANCE: Field<i64> = Field::at(0);
    pub(crate) const YTD_PAYMENT: Field<i64> = Field::at(BALANCE.end());
    pub(crate) const CREDIT_LIMIT: Field<i64> = Field::at(YTD_PAYMENT.end());
    pub(crate) const SINCE: Field<i64> = Field::at(CREDIT_LIMIT.end());
    pub(crate) const PAYMENTS: Field<u32> = Field::at(SINCE.end());
    pub(crate) const DELIVERIES: Field<u32> = Field::at(PAYMENTS.end());
    pub(crate) const DISCOUNT: Field<u32> = Field::at(DELIVERIES.end());
    pub(crate) const CREDIT: Text<2> = Text::at(DISCOUNT.end());
    pub(crate) const MIDDLE: Text<2> = Text::at(CREDIT.end());
    pub(crate) const FIRST: Text<16> = Text::at(MIDDLE.end());
    pub(crate) const LAST: Text<16> = Text::at(FIRST.end());
    pub(crate) const PHONE: Text<16> = Text::at(LAST.end());
    pub(crate) const ADDRESS: Address = Text::at(PHONE.end());
    pub(crate) const DATA: Tail = Tail::at(ADDRESS.end());
    /// Without the data.
    pub(crate) const LEN: usize = ADDRESS.end();
    pub(crate) const DATA_LEN_MAX: usize = 500;
    /// The credit of a customer whose payments are noted in the data.
    pub(crate) const BAD_CREDIT: [u8; 2] = *b"BC";
}

pub(crate) mod history {
    use super::*;
    pub(crate) const DATE: Field<i64> = Field::at(0);
    pub(crate) const AMOUNT: Field<i64> = Field::at(DATE.end());
    pub(crate) const CUSTOMER: Field<u32> = Field::at(AMOUNT.end());
    pub(crate) const CUSTOMER_WAREHOUSE: Field<u32> = Field::at(CUSTOMER.end());
    pub(crate) const CUSTOMER_DISTRICT: Field<u8> = Field::at(CUSTOMER_WAREHOUSE.end());
    pub(crate) const WAREHOUSE: Field<u32> = Field::at(CUSTOMER_DISTRICT.end());
    pub(crate) const DISTRICT: Field<u8> = Field::at(WAREHOUSE.end());
    pub(crate) const DATA: Text<24> = Text::at(DISTRICT.end());
    pub(crate) const LEN: usize = DATA.end();
}

pub(crate) mod order {
    use super::*;
    pub(crate) const ENTRY_DATE: Field<i64> = Field::at(0);
    pub(crate) const CUSTOMER: Field<u32> = Field::at(ENTRY_DATE.end());
    pub(crate) const CARRIER: Field<u8> = Field::at(CUSTOMER.end());
    pub(crate) const LINES: Field<u8> = Field::at(CARRIER.end());
    pub(crate) const ALL_LOCAL: Field<u8> = Field::at(LINES.end());
    pub(crate) const LEN: usize = ALL_LOCAL.end();
}

pub(crate) mod order_line {
    use super::*;
    pub(crate) const DELIVERY_DATE: Field<i64> = Field::at(0);
    pub(crate) const AMOUNT: Field<i64> = Field::at(DELIVERY_DATE.end());
    pub(crate) const ITEM: Field<u32> = Field::at(AMOUNT.end());
    pub(crate) const SUPPLY_WAREHOUSE: Field<u32> = Field::at(ITEM.end());
    pub(crate) const QUANTITY: Field<u8> = Field::at(SUPPLY_WAREHOUSE.end());
    pub(crate) const DISTRICT_INFO: Text<24> = Text::at(QUANTITY.end());
    pub(crate) const LEN: usize = DISTRICT_INFO.end();
}

pub(crate) mod item {
    use super::*;
    pub(crate) const PRICE: Field<i64> = Field::at(0);
    pub(crate) const IMAGE: Field<u32> = Field::at(PRICE.end());
    pub(crate) const NAME: Text<24> = Text::at(IMAGE.end());
    pub(crate) const DATA: Tail = Tail::at(NAME.end());
    /// Without the data.
    pub(crate) const LEN: usize = NAME.end();
}

pub(crate) mod stock {
    use super::*;
    pub(crate) const QUANTITY: Field<u32> = Field::at(0);
    pub(crate) const YTD: Field<u32> = Field::at(QUANTITY.end());
    pub(crate) const ORDERS: Field<u32> = Field::at(YTD.end());
    pub(crate) const REMOTE_ORDERS: Field<u32> = Field::at(ORDERS.end());
    const FIRST_DISTRICT_INFO: usize = REMOTE_ORDERS.end();
    const AFTER_DISTRICT_INFO: usize = FIRST_DISTRICT_INFO + 24 * super::super::DISTRICTS as usize;
    pub(crate) const DATA: Tail = Tail::at(AFTER_DISTRICT_INFO);
    /// Without the data.
    pub(crate) const LEN: usize = AFTER_DISTRICT_INFO;

    /// The text that the order lines of a district (from 1) get.
    #[inline]
    pub(crate) const fn district_info(district: u8) -> Text<24> {
        Text::at(FIRST_DISTRICT_INFO + 24 * (district as usize).saturating_sub(1))
    }
}
