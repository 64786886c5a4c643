import type { z } from 'zod';
import { agent } from './agent.ts';
import { artifact } from './artifact.ts';
import { relic } from './relic.ts';
import { tool } from './tool.ts';
import { workflow } from './workflow.ts';

export const MANIFEST_KINDS = ['Agent', 'Tool', 'Relic', 'Artifact', 'Workflow'] as const;
export type ManifestKind = (typeof MANIFEST_KINDS)[number];

/** The one definition of each kind: validation, types, JSON Schema and reference are all made from it. */
export const KINDS = {
  Agent: () => agent,
  Tool: () => tool,
  Relic: () => relic,
  Artifact: () => artifact,
  Workflow: workflow,
};

export type AgentManifest = z.output<typeof agent>;
export type ToolManifest = z.output<typeof tool>;
export type RelicManifest = z.output<typeof relic>;
export type ArtifactManifest = z.output<typeof artifact>;
export type WorkflowManifest = z.output<ReturnType<typeof workflow>>;

/** A checked manifest, told apart by `kind`. */
export type Manifest = AgentManifest | ToolManifest | RelicManifest | ArtifactManifest | WorkflowManifest;
