# What `cmake --install` puts where, and the Debian package, which `./dev package` makes of the same files.
include(GNUInstallDirs)

# The program itself prints its man page and completions. One that was built for another machine cannot.
if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
  set(can_run OFF)
else()
  set(can_run ON)
endif()
option(MCPIVOT_PAGES "Make the man page and the completions, by running the program" ${can_run})

install(TARGETS mcpivot)
install(FILES share/skill/SKILL.md DESTINATION ${CMAKE_INSTALL_DATADIR}/mcpivot/skill)
# Also where the prefix is /usr/local, systemd finds it; elsewhere it is a file to copy.
install(FILES share/systemd/mcpivot.service DESTINATION lib/systemd/system)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/mcpivot RENAME copyright)

if(MCPIVOT_PAGES)
  set(pages ${CMAKE_BINARY_DIR}/pages)
  file(MAKE_DIRECTORY ${pages})
  add_custom_command(
    OUTPUT ${pages}/mcpivot.1 ${pages}/mcpivot ${pages}/_mcpivot ${pages}/mcpivot.fish
    COMMAND mcpivot man > ${pages}/mcpivot.1
    COMMAND mcpivot completion bash > ${pages}/mcpivot
    COMMAND mcpivot completion zsh > ${pages}/_mcpivot
    COMMAND mcpivot completion fish > ${pages}/mcpivot.fish
    DEPENDS mcpivot
    COMMENT "Printing the man page and the completions"
    VERBATIM)
  add_custom_target(pages ALL DEPENDS ${pages}/mcpivot.1)
  install(FILES ${pages}/mcpivot.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${pages}/mcpivot DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  # Debian's zsh looks for what packages bring in a folder of its own.
  install(
    CODE "
    set(folder site-functions)
    if(CMAKE_INSTALL_PREFIX MATCHES \"/usr$\" AND EXISTS /etc/debian_version)
      set(folder vendor-completions)
    endif()
    file(INSTALL \"${pages}/_mcpivot\" DESTINATION
         \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/zsh/\${folder}\")")
  install(FILES ${pages}/mcpivot.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "the mcpivot authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "fixed point between an AI client and its MCP servers")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
    "The client connects once, to mcpivot. The servers behind it are rebuilt, restarted,\ncrash, are switched on and off; the client's connection, and with it the\nconversation, goes on, and the model is told what changed.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
if(CMAKE_CROSSCOMPILING)
  # dpkg would name this machine, and the cross compiler's copies of the libraries. `./dev package --arm64` says what
  # the program depends on.
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE ${MCPIVOT_DEBIAN_ARCHITECTURE})
else()
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_OUTPUT_FILE_PREFIX ${PROJECT_SOURCE_DIR}/build/package)
include(CPack)
