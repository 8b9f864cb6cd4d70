# Files that are compiled as one, because reading their headers takes longer than the rest of them. The groups are small
# enough that a changed file is compiled again in a few seconds; large files stay alone, and those that know the
# configuration are apart from those that don't, so that a change of it reaches few. The presets without precompiled
# headers compile each file by itself, so that each includes what it uses.

# together(FOLDER NAME…): these files of src/FOLDER, without their .cpp.
function(together folder)
  list(TRANSFORM ARGN REPLACE "(.+)" "src/${folder}/\\1.cpp" OUTPUT_VARIABLE files)
  list(GET ARGN 0 first)
  set_source_files_properties(${files} PROPERTIES UNITY_GROUP ${folder}_${first})
endfunction()

if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
  set_target_properties(mcpivot_core PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endif()

together(base command duration_text files hash output_ring secret url user_folders utf8)
together(bridge facade_ids make_bridge input_round legacy_facade legacy_facade_rounds legacy_facade_subscriptions legacy_results progress_shift request_stamp upstream_listen)
together(cli check check_config)
together(cli colours completion_scripts control_command install split_words status_table)
together(cli completion man_page)
together(clitools arg_template argument_check arguments compact_json tool_schema)
together(clitools call_pool captured_output cli_result cli_run kept_files schema_fetch)
together(config config_file key_docs key_reader keys server_draft units)
together(config credentials env_file jsonc nearest problem_list tool_pattern variables)
together(control control_client running_mcpivots)
together(gateway active_memory client_state control_arguments list_announcer listens output_tail sitter_answers tool_filter)
together(gateway desk_modern desk_news gateway member routes)
together(glob braces glob name_pattern path_pattern)
together(install careful_file install_record made_folders project_start skill)
together(install client_files client_text json_edit toml_edit)
together(install import_rules installer)
together(link outbox proxy sse_parser)
together(link http_exchanges http_link)
together(mcp catalog era initialize notice)
together(proc build_runner process program_run stderr_reader)
together(proc exit_status guard launcher port_holder same_program terminal)
# message.cpp and json_cursor.cpp stay alone: together with others g++ inlines less of what reads every message.
together(rpc answers json_string line_reader skim)
together(schema check check_members circle compile references schema uri values words)
together(search search_synonyms search_words tool_search)
together(server clients connection_record crash_report executable logging_observer reload_rounds start_cache status timers waiting_room)
together(server generation handshake replay trial)
together(server birth_report daemon_supervisor offer process_supervisor)
together(server instance_reload instance_stop server shared_build)
together(watch build_output ignore_rules path_trail selection)
together(watch file_watcher inotify watched_tree)
together(world daemon_process file_source_watch process_backend real_world)
together(world loop_timers real_files script_files)
