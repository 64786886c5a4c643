import type { Operation } from '../operations.ts';

/** Every driver has it: resolves if the service answers, fails as its other operations would. */
export const relicHealth = (location: string, ask: () => Promise<void>): Operation => ({
  description: 'whether it answers',
  parameters: {},
  idempotent: true,
  async run() {
    await ask();
    return { ok: true, where: location };
  },
});
