import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isJsonObject, type Json } from '../../kernel/json.ts';

/**
 * What a project writes into package.json to get the Telltale that created it. `home` is the folder of that package:
 *
 * - a checkout: that folder (`file:`);
 * - installed from a tarball or a git repository: the same one, as npm's lock file in node_modules names it;
 * - installed from a registry, or unknown: `^version`.
 */
export function ownDependency(home: string, version: string): string {
  const installedIn =
    /^(.+?)[\\/]node_modules[\\/]\.pnpm[\\/]/.exec(home)?.[1] ??
    /^(.+)[\\/]node_modules[\\/]telltale$/.exec(home)?.[1];
  if (installedIn === undefined) return fileSpec(home);
  const source = lockedSource(installedIn) ?? declaredSource(installedIn);
  if (source === undefined) return `^${version}`;
  if (source.startsWith('file:')) {
    const path = resolve(installedIn, source.slice('file:'.length));
    return existsSync(path) ? fileSpec(path) : `^${version}`;
  }
  const isFromRegistry = source.endsWith(`/-/telltale-${version}.tgz`);
  return /^(?:git|https?:)/.test(source) && !isFromRegistry ? source : `^${version}`;
}

const fileSpec = (path: string) => `file:${path.replaceAll('\\', '/')}`;

/** Where npm got the package from. */
function lockedSource(root: string): string | undefined {
  const packages = readJson(join(root, 'node_modules', '.package-lock.json'), 'packages');
  return textAt(packages, 'node_modules/telltale', 'resolved');
}

/** What the project says where to get it from: other package managers keep no such file. */
function declaredSource(root: string): string | undefined {
  const file = join(root, 'package.json');
  for (const list of ['dependencies', 'devDependencies']) {
    const source = textAt(readJson(file, list), 'telltale');
    if (source !== undefined) return source;
  }
  return undefined;
}

function readJson(file: string, key: string): Json | undefined {
  if (!existsSync(file)) return undefined;
  const value: Json = JSON.parse(readFileSync(file, 'utf8'));
  return isJsonObject(value) ? value[key] : undefined;
}

function textAt(value: Json | undefined, ...path: readonly string[]): string | undefined {
  for (const key of path) value = isJsonObject(value) ? value[key] : undefined;
  return typeof value === 'string' ? value : undefined;
}
