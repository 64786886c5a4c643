import { delimiter, dirname } from 'node:path';

type Env = Readonly<Record<string, string | undefined>>;

/** The environment with this very Node before all others: commands of the demo say `node`. */
export function nodeOnPath(env: Env, execPath: string): Env {
  // Windows does not tell names apart by case.
  const name = Object.keys(env).find((each) => each.toUpperCase() === 'PATH') ?? 'PATH';
  return { ...env, [name]: [dirname(execPath), env[name]].filter((part) => part).join(delimiter) };
}
