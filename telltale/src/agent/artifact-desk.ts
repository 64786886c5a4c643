import type { Clock } from '../lib/clock.ts';
import type { Store } from '../store/store.ts';
import type { ArtifactDesk } from '../tools/artifacts/open-artifacts.ts';
import { createSandbox } from '../tools/sandbox/create-sandbox.ts';
import type { Sandbox } from '../tools/sandbox/sandbox.ts';

/** The artifacts of the store, opened by the first that asks. */
export type OpenDesk = () => Promise<ArtifactDesk>;

export function createOpenDesk({
  store,
  clock,
  sandbox,
}: {
  readonly store: Store;
  readonly clock: Clock;
  readonly sandbox?: Sandbox | undefined;
}): OpenDesk {
  const open = async () => {
    const { openArtifacts } = await import('../tools/artifacts/open-artifacts.ts');
    return openArtifacts({ tables: store.tables, clock, sandbox: sandbox ?? createSandbox({ clock }) });
  };
  let opening: Promise<ArtifactDesk> | undefined;
  return () => {
    opening ??= open();
    return opening;
  };
}
