/** Worked cases of protocol.md: an input, options, and the events the page demands. */
import { readFileSync } from 'node:fs';
import type { ParserEvent, Place } from '../../src/parser/intents.ts';

export interface CaseOptions {
  readonly max_body?: number;
  readonly actions_in?: readonly Place[];
  readonly key?: string;
  readonly ids?: readonly string[];
}

export interface WorkedCase {
  readonly name: string;
  readonly input: string;
  readonly options?: CaseOptions;
  readonly events: readonly ParserEvent[];
}

export const readCases = (file: URL): WorkedCase[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as WorkedCase);
