import { resolve } from 'node:path';
import { withTimeout } from '../access/with-timeout.ts';
import type { TargetEdges } from '../target-edges.ts';
import { childEnvironment } from './child-environment.ts';
import type { RunCommand } from './command-request.ts';

export function createRunCommand(edges: Omit<TargetEdges, 'servers'>): RunCommand {
  return async ({ what, command, cwd = '.', env, stdin, maxBytes, timeoutMs, signal }, call = {}) => {
    const { runConfined } = await import('./run-confined.ts');
    const [program = '', ...args] = command;
    const request = {
      what,
      program,
      args,
      stdin,
      maxBytes,
      cwd: resolve(edges.folder, cwd),
      env: childEnvironment(edges.env, edges.permissions.environment, env),
    };
    return withTimeout(signal, timeoutMs / 1000, what, edges.clock, (within) =>
      runConfined({ ...request, signal: within }, call, edges),
    );
  };
}
