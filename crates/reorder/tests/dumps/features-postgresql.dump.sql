--
-- PostgreSQL database dump
--

\restrict 0bfVOdqQuSONg2paMy3ZcHixsJwOVPnBfBvKNPnT3LQfJnVfu6JR7Obj2t5HKtg

-- Dumped from database version 15.20 (Debian 15.20-0+deb12u1)
-- Dumped by pg_dump version 15.20 (Debian 15.20-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: app; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA app;


--
-- Name: mood; Type: TYPE; Schema: public; Owner: -
--

CREATE TYPE public.mood AS ENUM (
    'sad',
    'ok; or so',
    'happy'
);


--
-- Name: total(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.total() RETURNS bigint
    LANGUAGE sql STABLE
    AS $$ SELECT sum("Total")::bigint FROM public.region $$;


--
-- Name: share; Type: DOMAIN; Schema: public; Owner: -
--

CREATE DOMAIN public.share AS integer NOT NULL DEFAULT 1
	CONSTRAINT share_fits CHECK (((VALUE >= 0) AND (VALUE < public.total())));


--
-- Name: note_sale(); Type: FUNCTION; Schema: app; Owner: -
--

CREATE FUNCTION app.note_sale() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO app.log (what) VALUES ('sold; ' || NEW.id);
    RETURN NEW;
END $$;


--
-- Name: clear(integer); Type: PROCEDURE; Schema: public; Owner: -
--

CREATE PROCEDURE public.clear(IN days integer)
    LANGUAGE plpgsql
    AS $$
BEGIN
    DELETE FROM public.sale WHERE day < current_date - days;
END $$;


--
-- Name: near(integer, integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.near(a integer, b integer) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$SELECT abs(a - b) < 2$$;


--
-- Name: plus_one(integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.plus_one(a integer) RETURNS integer
    LANGUAGE sql IMMUTABLE
    RETURN (a + 1);


--
-- Name: touch(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.touch() RETURNS trigger
    LANGUAGE plpgsql
    AS $$BEGIN NEW.changed := clock_timestamp(); RETURN NEW; END$$;


--
-- Name: all_of(integer); Type: AGGREGATE; Schema: public; Owner: -
--

CREATE AGGREGATE public.all_of(integer) (
    SFUNC = int4pl,
    STYPE = integer
);


--
-- Name: =~=; Type: OPERATOR; Schema: public; Owner: -
--

CREATE OPERATOR public.=~= (
    FUNCTION = public.near,
    LEFTARG = integer,
    RIGHTARG = integer
);


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: log; Type: TABLE; Schema: app; Owner: -
--

CREATE TABLE app.log (
    at timestamp with time zone DEFAULT clock_timestamp(),
    what text
);


--
-- Name: note; Type: TABLE; Schema: app; Owner: -
--

CREATE TABLE app.note (
)
INHERITS (app.log);


--
-- Name: session; Type: TABLE; Schema: app; Owner: -
--

CREATE UNLOGGED TABLE app.session (
    id uuid DEFAULT gen_random_uuid() NOT NULL
);


--
-- Name: shop; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.shop (
    id integer NOT NULL,
    region bigint NOT NULL,
    during tstzrange,
    name text COLLATE pg_catalog."C"
);


--
-- Name: numbers; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.numbers
    START WITH 100
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: numbers; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.numbers OWNED BY public.shop.name;


--
-- Name: open; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.open AS
 SELECT shop.id,
    shop.name
   FROM public.shop
  WHERE (shop.name <> ''::text)
  WITH CASCADED CHECK OPTION;


--
-- Name: region; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.region (
    id bigint NOT NULL,
    name character varying(30) DEFAULT 'it''s; new'::character varying NOT NULL,
    feeling public.mood DEFAULT 'ok; or so'::public.mood,
    part public.share,
    "Total" numeric(12,2) DEFAULT 0,
    tags text[] DEFAULT ARRAY['a'::text, 'b'::text],
    twice numeric GENERATED ALWAYS AS (("Total" * (2)::numeric)) STORED,
    changed timestamp with time zone DEFAULT now(),
    CONSTRAINT "region_Total_check" CHECK (("Total" >= (0)::numeric))
);
ALTER TABLE ONLY public.region ALTER COLUMN name SET STATISTICS 200;

ALTER TABLE ONLY public.region REPLICA IDENTITY FULL;


--
-- Name: TABLE region; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.region IS 'a region; with a comment';


--
-- Name: region_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.region_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: region_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.region_id_seq OWNED BY public.region.id;


--
-- Name: sale; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.sale (
    id integer NOT NULL,
    shop integer NOT NULL,
    day date NOT NULL
)
PARTITION BY RANGE (day);


--
-- Name: sale_new; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.sale_new (
    id integer NOT NULL,
    shop integer NOT NULL,
    day date NOT NULL
);


--
-- Name: sale_old; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.sale_old (
    id integer NOT NULL,
    shop integer NOT NULL,
    day date NOT NULL
);


--
-- Name: shop_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.shop ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.shop_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: stored; Type: MATERIALIZED VIEW; Schema: public; Owner: -
--

CREATE MATERIALIZED VIEW public.stored AS
 SELECT count(*) AS n
   FROM public.sale
  WITH NO DATA;


--
-- Name: totals; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.totals AS
 SELECT r.id,
    sum(s.id) AS n,
    public.total() AS t
   FROM (public.region r
     LEFT JOIN public.shop s ON ((s.region = r.id)))
  GROUP BY r.id;


--
-- Name: sale_new; Type: TABLE ATTACH; Schema: public; Owner: -
--

ALTER TABLE ONLY public.sale ATTACH PARTITION public.sale_new DEFAULT;


--
-- Name: sale_old; Type: TABLE ATTACH; Schema: public; Owner: -
--

ALTER TABLE ONLY public.sale ATTACH PARTITION public.sale_old FOR VALUES FROM (MINVALUE) TO ('2020-01-01');


--
-- Name: note at; Type: DEFAULT; Schema: app; Owner: -
--

ALTER TABLE ONLY app.note ALTER COLUMN at SET DEFAULT clock_timestamp();


--
-- Name: region id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.region ALTER COLUMN id SET DEFAULT nextval('public.region_id_seq'::regclass);


--
-- Name: session session_pkey; Type: CONSTRAINT; Schema: app; Owner: -
--

ALTER TABLE ONLY app.session
    ADD CONSTRAINT session_pkey PRIMARY KEY (id);


--
-- Name: region region_name_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.region
    ADD CONSTRAINT region_name_key UNIQUE (name) DEFERRABLE INITIALLY DEFERRED;


--
-- Name: region region_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.region
    ADD CONSTRAINT region_pkey PRIMARY KEY (id);

ALTER TABLE public.region CLUSTER ON region_pkey;


--
-- Name: sale sale_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.sale
    ADD CONSTRAINT sale_pkey PRIMARY KEY (id, day);


--
-- Name: sale_new sale_new_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.sale_new
    ADD CONSTRAINT sale_new_pkey PRIMARY KEY (id, day);


--
-- Name: sale_old sale_old_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.sale_old
    ADD CONSTRAINT sale_old_pkey PRIMARY KEY (id, day);


--
-- Name: shop shop_apart; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.shop
    ADD CONSTRAINT shop_apart EXCLUDE USING gist (during WITH &&) WHERE ((name IS NOT NULL));


--
-- Name: shop shop_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.shop
    ADD CONSTRAINT shop_pkey PRIMARY KEY (id);


--
-- Name: sale_new_shop; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX sale_new_shop ON public.sale_new USING btree (shop, day);


--
-- Name: shop_length; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX shop_length ON public.shop USING btree (length(name) DESC NULLS LAST) INCLUDE (region);


--
-- Name: shop_name; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX shop_name ON public.shop USING btree (lower(name)) WHERE (region > 0);


--
-- Name: stored_n; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX stored_n ON public.stored USING btree (n);


--
-- Name: sale_new_pkey; Type: INDEX ATTACH; Schema: public; Owner: -
--

ALTER INDEX public.sale_pkey ATTACH PARTITION public.sale_new_pkey;


--
-- Name: sale_old_pkey; Type: INDEX ATTACH; Schema: public; Owner: -
--

ALTER INDEX public.sale_pkey ATTACH PARTITION public.sale_old_pkey;


--
-- Name: linked; Type: STATISTICS; Schema: public; Owner: -
--

CREATE STATISTICS public.linked ON region, name FROM public.shop;


--
-- Name: log keep; Type: RULE; Schema: app; Owner: -
--

CREATE RULE keep AS
    ON DELETE TO app.log DO INSTEAD NOTHING;


--
-- Name: shop copied; Type: RULE; Schema: public; Owner: -
--

CREATE RULE copied AS
    ON INSERT TO public.shop DO ( INSERT INTO app.log (what)
  VALUES ('shop'::text);
 UPDATE app.note SET what = 'x'::text;
);


--
-- Name: shop later; Type: TRIGGER; Schema: public; Owner: -
--

CREATE CONSTRAINT TRIGGER later AFTER DELETE ON public.shop DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION app.note_sale();


--
-- Name: sale notes; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER notes AFTER INSERT OR UPDATE OF shop ON public.sale FOR EACH ROW WHEN ((new.id > 0)) EXECUTE FUNCTION app.note_sale();


--
-- Name: region touches; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER touches BEFORE UPDATE ON public.region FOR EACH ROW EXECUTE FUNCTION public.touch();


--
-- Name: sale sale_shop_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE public.sale
    ADD CONSTRAINT sale_shop_fkey FOREIGN KEY (shop) REFERENCES public.shop(id) DEFERRABLE INITIALLY DEFERRED;


--
-- Name: shop shop_region_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.shop
    ADD CONSTRAINT shop_region_fkey FOREIGN KEY (region) REFERENCES public.region(id) ON UPDATE CASCADE ON DELETE SET NULL;


--
-- Name: shop seen; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY seen ON public.shop FOR SELECT USING ((EXISTS ( SELECT 1
   FROM public.region r
  WHERE (r.id = shop.region))));


--
-- Name: shop; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.shop ENABLE ROW LEVEL SECURITY;

--
-- PostgreSQL database dump complete
--

\unrestrict 0bfVOdqQuSONg2paMy3ZcHixsJwOVPnBfBvKNPnT3LQfJnVfu6JR7Obj2t5HKtg

