import type { Clock } from '../kernel/time.ts';
import type { Store } from '../store/store.ts';
import type { ArtifactDesk } from '../targets/artifacts/open-artifacts.ts';
import { createSandbox } from '../targets/sandbox/create-sandbox.ts';
import type { Sandbox } from '../targets/sandbox/sandbox.ts';

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
    const { openArtifacts } = await import('../targets/artifacts/open-artifacts.ts');
    return openArtifacts({ tables: store.tables, clock, sandbox: sandbox ?? createSandbox({ clock }) });
  };
  let opening: Promise<ArtifactDesk> | undefined;
  return () => {
    opening ??= open();
    return opening;
  };
}
