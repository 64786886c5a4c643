import { nearest } from '../kernel/nearest.ts';
import { MANIFEST_KINDS } from './check-manifest.ts';

const YAML_KIND = /^(?:---[ \t]+)?["']?kind["']?[ \t]*:[ \t]*["']?([A-Za-z]\w*)/gm;
const JSON_KIND = /"kind"\s*:\s*"([A-Za-z]\w*)"/g;
/** Kubernetes' and its neighbours' manifests have kinds too, some by the same names. */
const FOREIGN = /^\s*["']?apiVersion["']?[ \t]*:/m;

/**
 * Whether a YAML or JSON file that was come across holds manifests of ours: one of its documents has a `kind` that is
 * one of ours or near it (so that a misspelt one is reported, not passed over).
 */
export function looksLikeManifest(text: string): boolean {
  if (FOREIGN.test(text)) return false;
  const kinds = text.trimStart().startsWith('{') ? JSON_KIND : YAML_KIND;
  for (const [, kind = ''] of text.matchAll(kinds))
    if (nearest(kind, MANIFEST_KINDS) !== undefined) return true;
  return false;
}
