import type { FoundSymbol, SymbolKind } from '../../../graph.ts';

/** What people ask for most comes first where all else is equal. */
const KIND: Readonly<Record<SymbolKind, number>> = {
  class: 1,
  function: 1,
  interface: 0.97,
  type: 0.95,
  enum: 0.95,
  method: 0.9,
  module: 0.85,
  variable: 0.8,
  heading: 0.75,
  field: 0.65,
};
const EXPORTED = 1.2;
const IN_TEST = 0.6;

const TEST_PATH =
  /(^|\/)(tests?|__tests__|spec|testdata|fixtures?|mocks?|__mocks__|examples?)\/|[._-](test|spec)\.[^/]+$|(^|\/)test_[^/]+\.py$|_test\.go$|Tests?\.java$/i;

export const isTestPath = (path: string): boolean => TEST_PATH.test(path);

/** How likely a symbol is meant, whatever was asked: definitions that others use before those of tests. */
export function rankOfSymbol({ kind, exported, path }: FoundSymbol): number {
  return KIND[kind] * (exported ? EXPORTED : 1) * rankOfPath(path);
}

export const rankOfPath = (path: string): number => (isTestPath(path) ? IN_TEST : 1);
