import type { LoadedAgent, Runtime, RuntimeOptions } from '../session/runtime-types.ts';
import type { Io } from './io.ts';

/** How commands come by agents and runtimes. Tests pass one of their own. */
export interface RuntimePort {
  loadAgent(path: string, options: Pick<Io, 'cwd' | 'env'>): Promise<LoadedAgent>;
  createRuntime(options: RuntimeOptions): Promise<Runtime>;
}

/** Imported at the first use: `telltale --version` needs none of it. */
export const sessionRuntimes: RuntimePort = {
  async loadAgent(path, options) {
    const { loadAgent } = (await import(String('../session/load-agent.ts'))) as Pick<RuntimePort, 'loadAgent'>;
    return loadAgent(path, options);
  },
  async createRuntime(options) {
    const { createRuntime } = (await import(String('../session/create-runtime.ts'))) as Pick<
      RuntimePort,
      'createRuntime'
    >;
    return createRuntime(options);
  },
};
