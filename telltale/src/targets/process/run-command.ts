import { resolve } from 'node:path';
import { withTimeout } from '../access/with-timeout.ts';
import type { TargetDeps } from '../target-edges.ts';
import { childEnvironment } from './child-environment.ts';
import type { RunCommand } from './command-request.ts';

export function createRunCommand(deps: Omit<TargetDeps, 'servers'>): RunCommand {
  return async ({ what, command, cwd = '.', env, stdin, maxBytes, timeoutMs, signal }, call = {}) => {
    const { runConfined } = await import('./run-confined.ts');
    const [program = '', ...args] = command;
    const request = {
      what,
      program,
      args,
      stdin,
      maxBytes,
      cwd: resolve(deps.folder, cwd),
      env: childEnvironment(deps.env, deps.permissions.environment, env),
    };
    return withTimeout(signal, timeoutMs / 1000, what, deps.clock, (within) =>
      runConfined({ ...request, signal: within }, call, deps),
    );
  };
}
