import type { Clock } from '../../kernel/clock.ts';
import type { LoadedManifest, Project } from '../../manifest/project/project.ts';
import type { Tables } from '../../store/store.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { Artifacts, CallArtifact } from './artifacts.ts';
import { createCallArtifact } from './call-artifact.ts';
import { createDraftCheck } from './check-draft.ts';
import { createArtifacts } from './create-artifacts.ts';
import { artifactsOf, readDraft } from './read-drafts.ts';

/** The artifacts of a store, and the way to ask them. */
export interface ArtifactDesk {
  readonly artifacts: Artifacts;
  readonly call: CallArtifact;
  /** Puts those of an agent's manifest into the store. */
  seed(agent: LoadedManifest, project: Project): Promise<void>;
}

export function openArtifacts({
  tables,
  sandbox,
  clock,
}: {
  readonly tables: Tables;
  readonly sandbox: Sandbox;
  readonly clock: Clock;
}): ArtifactDesk {
  const artifacts = createArtifacts({ tables, clock, check: createDraftCheck(sandbox) });
  sandbox.warm();
  return {
    artifacts,
    call: createCallArtifact({ artifacts, sandbox, clock }),
    async seed(agent, project) {
      for (const loaded of artifactsOf(agent, project)) {
        const draft = await readDraft(loaded);
        if (draft !== undefined) await artifacts.seed(draft);
      }
    },
  };
}
