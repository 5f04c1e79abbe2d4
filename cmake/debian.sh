# Sourced by tests/run and examples/run.  need_packages GROUP…: installs what is missing of cmake/debian-packages.txt.
need_packages() {
    local list package architecture native missing=() foreign=() sudo=()
    native=$(dpkg --print-architecture 2>/dev/null || true)
    list="$(dirname "${BASH_SOURCE[0]}")/debian-packages.txt"
    while read -r package; do
        # "ii " alone would also match packages that were removed and left their configuration.
        # The same package of a foreign architecture (for a cross build) is another one.
        architecture="all|$native"
        if [[ $package == *:* ]]; then architecture=${package#*:}; fi
        dpkg-query -W -f='${Architecture} ${db:Status-Status}\n' "$package" 2>/dev/null | grep -Eqx "($architecture) installed" && continue
        missing+=("$package")
        if [[ $package == *:* ]]; then foreign+=("$architecture"); fi
    done < <(awk -v groups=" $* " '!/^#/ && index(groups, " " $1 " ") { print $2 }' "$list" | sort -u)
    ((${#missing[@]})) || return 0
    if ! command -v apt-get >/dev/null; then
        echo "These packages are needed, and there is no apt-get to install them: ${missing[*]}" >&2
        return 1
    fi
    [[ $EUID -eq 0 ]] || sudo=(sudo)
    echo "Installing with apt: ${missing[*]}"
    for architecture in "${foreign[@]}"; do
        "${sudo[@]}" dpkg --add-architecture "$architecture" && continue
        echo "These packages are needed, and dpkg does not take $architecture as a foreign architecture: ${missing[*]}" >&2
        return 1
    done
    if ! "${sudo[@]}" apt-get update -qq ||
        ! "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null; then
        echo "These packages are needed, and apt-get could not install them${foreign:+ (some are of ${foreign[0]}, which the package source must have too)}: ${missing[*]}" >&2
        return 1
    fi
}
