# Completion of fleettools-mcp for fish 3 and later, written by scripts/completions.
function __fleettools
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in (env _FLEET_COMPLETE=1 $words "$current" 2>/dev/null)
        if test "$line" = :
            __fish_complete_path "$current"
        else
            echo $line
        end
    end
end
complete -c fleettools-mcp -f -a '(__fleettools)'
