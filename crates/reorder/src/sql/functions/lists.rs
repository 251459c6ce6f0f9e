//! The names of built-in functions, in lower case, each list sorted.

/// Functions that depend on their arguments alone, and aggregates of them.
pub(super) const PURE: &str = "
    abs acos adddate any_value array_agg array_append array_cat array_dims array_length array_lower
    array_ndims array_position array_positions array_prepend array_remove array_replace
    array_to_json array_to_string array_upper ascii asin atan atan2 avg bin bit_and bit_count
    bit_length bit_or bit_xor bool_and bool_or btrim cardinality cast cbrt ceil ceiling char
    char_length character_length chr coalesce concat concat_ws conv convert convert_from convert_to
    cos cot count crc32 cume_dist date_add date_format date_part date_sub date_trunc datediff day
    dayname dayofmonth dayofweek dayofyear decode degrees dense_rank div elt encode every exists
    exp extract factorial field find_in_set first_value floor format from_days from_unixtime
    get_format glob greatest group_concat grouping hex hour if ifnull iif initcap insert instr
    int4range int8range isempty isfinite isnull json json_agg json_array json_array_elements
    json_array_elements_text json_array_length json_arrayagg json_build_array json_build_object
    json_contains json_extract json_length json_object json_object_agg json_objectagg json_query
    json_quote json_remove json_replace json_set json_typeof json_unquote json_valid json_value
    jsonb_agg jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_build_array
    jsonb_build_object jsonb_extract_path jsonb_extract_path_text jsonb_insert jsonb_object_agg
    jsonb_path_exists jsonb_path_query jsonb_pretty jsonb_set jsonb_strip_nulls jsonb_typeof
    justify_days justify_hours justify_interval lag last_day last_value lcase lead least left
    length like ln locate log log10 log2 lower lower_inc lower_inf lpad ltrim make_date
    make_interval make_time make_timestamp makedate maketime max md5 mid min minute mod month
    monthname nth_value ntile nullif numrange oct octet_length ord overlay percent_rank
    percentile_cont percentile_disc pi position pow power printf quarter quote quote_ident
    quote_literal quote_nullable radians range_merge rank regexp_count regexp_instr regexp_like
    regexp_match regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table
    regexp_substr repeat replace reverse right round row_number row_to_json rpad rtrim scale second
    sha1 sha2 sha224 sha256 sha384 sha512 sign sin space split_part sqrt starts_with std stddev
    stddev_pop stddev_samp str_to_date strcmp string_agg string_to_array strpos subdate substr
    substring substring_index sum suppress_redundant_updates_trigger tan time_format time_to_sec
    timediff timestampadd timestampdiff to_char to_date to_days to_hex to_json to_jsonb to_number
    to_timestamp to_tsquery to_tsvector total translate trim trim_array trim_scale trunc truncate
    ts_rank tsquery tsrange tstzrange tsvector_update_trigger typeof ucase unhex unicode unnest
    upper upper_inc upper_inf values var_pop var_samp variance week weekday weekofyear
    width_bucket year yearweek zeroblob";

/// Functions that depend on the session or the begin of the transaction.
pub(super) const FIXED: &str = "
    age connection_id current_catalog current_role current_schema current_setting current_user
    database inet_client_addr pg_backend_pid pg_trigger_depth pg_typeof schema session_user
    system_user transaction_timestamp txid_current user version";

/// Functions whose value changes from call to call.
pub(super) const VOLATILE: &str = "
    clock_timestamp currval gen_random_uuid last_insert_id lastval nextval rand random randomblob
    statement_timestamp sysdate timeofday uuid uuid_generate_v4 uuid_short";

/// Functions of the time, which PostgreSQL takes at the begin of the transaction and other servers
/// at each query.
pub(super) const TIME: &str = "
    curdate current_date current_time current_timestamp curtime date datetime julianday localtime
    localtimestamp now strftime time timestamp unix_timestamp unixepoch utc_date utc_time
    utc_timestamp";
