import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Store } from '../../store/store.ts';
import { RUN_CANCEL } from '../runs/run-messages.ts';
import type { Runtime } from '../runtime-types.ts';

/** Has a run worked on that is to end. Where that cannot be, the word is there for whoever can. */
export async function tellToEnd(
  { store, workflows }: { readonly store: Store; readonly workflows: Pick<Runtime['workflows'], 'cancel'> },
  run: string,
  reason: string,
): Promise<void> {
  try {
    await workflows.cancel(run, reason, 'session');
  } catch (thrown) {
    if (!(thrown instanceof RuntimeError) || thrown.code !== 'manifest_changed') throw thrown;
    await store.send(run, { kind: RUN_CANCEL, from: 'session', body: reason });
  }
}
