//! The real binary as child processes, in temporary directories and on loopback: its output, its recovery, its leftovers. The tests
//! signal children only by process id.

mod backup;
mod backup_interrupted;
mod bucket;
mod client;
mod config;
mod directory_lock;
mod export;
mod failover;
mod faults;
mod fill_database;
mod first_run;
mod generate;
mod interrupted;
mod kill;
mod kill_batches;
mod kill_deliveries;
mod kill_load;
mod move_command;
mod node_clocks;
mod node_deliveries;
mod node_list;
mod nodes;
mod peer;
mod postgres;
mod preload;
mod served_nodes;
mod signals;
mod soak;
mod start_errors;
mod stop;
mod stop_in_flight;
mod storage_failure;
mod test_directory;
mod unusable_bucket;
mod verify;
