export type ProcessEnvironment = Readonly<Record<string, string | undefined>>;

/** Variables that programs need to run. None of them is a secret. */
const PASSED_ON: ReadonlySet<string> = new Set(
  [
    'PATH HOME USER LOGNAME SHELL LANG LANGUAGE LC_ALL LC_CTYPE TZ TMPDIR TEMP TMP TERM',
    'SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT USERPROFILE HOMEDRIVE HOMEPATH APPDATA LOCALAPPDATA',
    'PROGRAMDATA PROGRAMFILES NUMBER_OF_PROCESSORS PROCESSOR_ARCHITECTURE',
  ].flatMap((line) => line.split(' ')),
);

/**
 * Tokens for Telltale itself. Whoever has one can approve an agent's actions, so they are never passed on, whatever a
 * manifest permits.
 */
const TOKEN_NAMES: ReadonlySet<string> = new Set(['TELLTALE_TOKEN', 'TELLTALE_MCP_TOKEN']);
const TOKEN = /tt_[\w-]{43}/;

const isToken = (name: string, value: string): boolean =>
  TOKEN_NAMES.has(name.toUpperCase()) || TOKEN.test(value);

/**
 * The environment of a child process: the variables that are always passed on, those in `permissions.environment`, then
 * `own`. Windows ignores case in names.
 */
export function childEnvironment(
  env: ProcessEnvironment,
  permitted: readonly string[],
  own: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const passed: Record<string, string> = {};
  for (const [name, value] of Object.entries(env))
    if (
      value !== undefined &&
      !isToken(name, value) &&
      (PASSED_ON.has(name.toUpperCase()) || permitted.includes(name))
    )
      passed[name] = value;
  return { ...passed, ...own };
}
