import type { Runtime, RuntimeOptions } from '../session/runtime-types.ts';

/** Loaded when it is first needed: whoever only wants a scripted model or a clock does not wait for it. */
export async function openRuntime(options: RuntimeOptions): Promise<Runtime> {
  const { createRuntime } = await import('../session/create-runtime.ts');
  return createRuntime(options);
}
