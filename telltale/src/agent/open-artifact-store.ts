import type { Clock } from '../lib/clock.ts';
import type { Store } from '../store/store.ts';
import type { ArtifactService } from '../tools/artifacts/open-artifacts.ts';
import { createSandbox } from '../tools/sandbox/create-sandbox.ts';
import type { Sandbox } from '../tools/sandbox/sandbox.ts';

/** Opens the artifacts of the store on the first call, and returns the same ones afterwards. */
export type OpenArtifactStore = () => Promise<ArtifactService>;

export function createArtifactStoreOpener({
  store,
  clock,
  sandbox,
}: {
  readonly store: Store;
  readonly clock: Clock;
  readonly sandbox?: Sandbox | undefined;
}): OpenArtifactStore {
  const open = async () => {
    const { openArtifacts } = await import('../tools/artifacts/open-artifacts.ts');
    return openArtifacts({ tables: store.tables, clock, sandbox: sandbox ?? createSandbox({ clock }) });
  };
  let opening: Promise<ArtifactService> | undefined;
  return () => {
    opening ??= open();
    return opening;
  };
}
