const names = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

/** Programs and builtins of the shell that run nothing but themselves. All others count as programs that may. */
export const PLAIN_PROGRAMS = names(`
  : true false test [ echo printf pwd read exit return break continue shift wait umask type which sleep
  cat ls head tail wc grep egrep fgrep cut tr uniq sort comm cmp diff nl od hexdump strings file stat du df date cal
  basename dirname realpath readlink id whoami groups uname nproc seq expr factor md5sum sha1sum sha224sum sha256sum
  sha384sum sha512sum b2sum cksum base32 base64 yes rev tac fold fmt paste join column expand unexpand printenv
  cp mv rm rmdir mkdir touch ln chmod chown chgrp tee truncate dd install mktemp unlink find split csplit sync tty jq
`);

/** Those of them that give files other content. */
export const CHANGES_FILES = names('cp mv ln tee truncate dd install find split csplit sort uniq');

/** The beginnings of options by which they run another program after all. */
export const RUNS_BY_OPTION: ReadonlyMap<string, string> = new Map([
  ['sort', '--co'], // --compress-program
  ['split', '--f'], // --filter
  ['install', '--strip-'], // --strip-program
]);

/** Those of them for which a folder is a name, and not what it holds. */
export const LISTS_FOLDERS = names(`
  : true false test [ echo printf ls stat du df basename dirname realpath readlink mkdir rmdir rm touch chmod chown chgrp
  ln find mktemp which type date seq expr
`);

/** Shells that read nothing but the script when they start. */
export const PLAIN_SHELLS = names('sh bash dash ash ksh mksh');

/** Options of interpreters that load nothing. */
export const SAFE_OPTIONS = names('-u -B -O -OO -E -I -s -S --no-warnings --enable-source-maps --');

/** The files that these programs look for where they run, without being told their names. */
export const CONFIGURED_BY: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    'make gmake': 'GNUmakefile makefile Makefile',
    'npm npx yarn pnpm pnpx bun bunx': 'package.json .npmrc package-lock.json yarn.lock pnpm-lock.yaml',
    cargo: 'Cargo.toml Cargo.lock build.rs .cargo/config.toml',
    go: 'go.mod go.sum',
    just: 'justfile Justfile .justfile',
    rake: 'Rakefile rakefile',
    bundle: 'Gemfile Gemfile.lock',
    mvn: 'pom.xml',
    gradle: 'build.gradle build.gradle.kts settings.gradle settings.gradle.kts',
    ninja: 'build.ninja',
    cmake: 'CMakeLists.txt',
    docker: 'Dockerfile compose.yaml docker-compose.yml',
    'pytest tox': 'conftest.py pytest.ini pyproject.toml setup.cfg tox.ini',
    tsc: 'tsconfig.json',
  }).flatMap(([programs, files]) =>
    programs.split(' ').map((program) => [program, files.split(' ')] as const),
  ),
);
