-- Whether prepare.sql has been run here.
select to_regclass('lab.channels') is not null as prepared
