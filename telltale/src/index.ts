import type { JsonObject } from './kernel/json.ts';
import type { LoadOptions, ManifestText } from './manifest/load-manifests.ts';
import type { LoadResult } from './manifest/project/project.ts';
import type { ManifestKind } from './manifest/schema/kinds.ts';
import type { ValidateResult } from './manifest/validate-manifests.ts';

export type { Clock } from './kernel/clock.ts';
export { createSystemClock, sleep } from './kernel/clock.ts';
export type { Json, JsonObject } from './kernel/json.ts';
export { type ErrorJson, RuntimeError } from './kernel/runtime-error.ts';
export type { Diagnostic, Excerpt } from './manifest/diagnostic.ts';
export { formatDiagnostic } from './manifest/format-diagnostic.ts';
export type { LoadOptions, ManifestText } from './manifest/load-manifests.ts';
export type { Palette } from './manifest/palette.ts';
export type {
  LoadedManifest,
  LoadedSource,
  LoadResult,
  Project,
  ResolvedImport,
} from './manifest/project/project.ts';
export type {
  AgentManifest,
  ArtifactManifest,
  Manifest,
  ManifestKind,
  RelicManifest,
  ToolManifest,
  WorkflowManifest,
} from './manifest/schema/kinds.ts';
export type { ValidateResult } from './manifest/validate-manifests.ts';

// YAML, the schemas and the glob matcher take 0.3 s to load (measured): whoever only imports the package does not wait.

/** Reads manifests and all they import, and checks them. Mistakes in them are in `diagnostics`, not thrown. */
export async function loadManifests(
  paths: readonly (string | ManifestText)[],
  options: LoadOptions,
): Promise<LoadResult> {
  const { loadManifests: load } = await import('./manifest/load-manifests.ts');
  return load(paths, options);
}

/** `loadManifests` for paths that may be folders: what `telltale validate` does. */
export async function validateManifests(
  paths: readonly (string | ManifestText)[],
  options: LoadOptions,
): Promise<ValidateResult> {
  const { validateManifests: validate } = await import('./manifest/validate-manifests.ts');
  return validate(paths, options);
}

/** The JSON Schema (2020-12) of a kind of manifest. */
export async function manifestJsonSchema(kind: ManifestKind): Promise<JsonObject> {
  const { manifestJsonSchema: schemaOf } = await import('./manifest/check-manifest.ts');
  return schemaOf(kind);
}
