/** Set by a launcher that knows what was typed, for the one process that it starts. */
export const PROGRAM_VARIABLE = 'TELLTALE_PROGRAM';

const INSTALLED = 'telltale';

/** How each package manager runs a program of the project that it has not put on the PATH of the user's shell. */
const RUNNERS: Readonly<Record<string, string>> = {
  npm: 'npx telltale',
  pnpm: 'pnpm exec telltale',
  yarn: 'yarn telltale',
  bun: 'bunx telltale',
};

/**
 * What a person types to start this program again. `script` is the path that Node was given: a package manager starts the
 * one in node_modules, where the user's own shell does not look.
 */
export function programTyped(env: Readonly<Record<string, string | undefined>>, script = ''): string {
  const told = env[PROGRAM_VARIABLE];
  if (told !== undefined && /^[\x20-\x7e]+$/.test(told)) return told;
  if (!/[\\/]node_modules[\\/]/.test(script)) return INSTALLED;
  if (env.NODE_RUN_SCRIPT_NAME !== undefined) return RUNNERS.npm ?? INSTALLED;
  const manager = /^\w+/.exec(env.npm_config_user_agent ?? '')?.[0] ?? '';
  return RUNNERS[manager] ?? INSTALLED;
}
