import { readFileSync } from 'node:fs';
import ts from 'typescript';
import { TYPESCRIPT } from '../../telltale/src/memory/parse/ecmascript/grammars.ts';
import { languageOf } from '../../telltale/src/memory/parse/language-of.ts';
import {
  createSourceParser,
  loadEngine,
  loadGrammar,
} from '../../telltale/src/memory/parse/source-parser.ts';
import { OWN_SOURCES } from '../../telltale/test/memory/oracle/code-bases.ts';
import { typescriptFiles } from '../../telltale/test/memory/oracle/compare.ts';
import { measure, median, type Subject } from '../parsing/measure.ts';
import { figure, table } from '../parsing/table.ts';
import type { Measurement } from './measurement.ts';
import { judgeParsing } from './targets.ts';

const BUDGET_MS = 60_000;

/** This package's sources, read whole, beside a parse by the same engine that takes nothing of the tree. */
export const measureParsing: Measurement = async ({ rounds, progress }) => {
  const files = typescriptFiles(OWN_SOURCES).map((path) => ({
    path,
    language: languageOf(path)!,
    text: readFileSync(path, 'utf8'),
  }));
  const characters = files.reduce((sum, { text }) => sum + text.length, 0);
  const parser = createSourceParser();
  const bare = await bareParser();
  const subjects: readonly Subject[] = [
    {
      name: 'bare parse by tree-sitter',
      run: () => {
        for (const { text } of files) bare(text);
      },
    },
    {
      name: 'telltale: symbols, imports, calls',
      async run() {
        for (const { language, text } of files) await parser.parse(language, text, BUDGET_MS);
      },
    },
    {
      name: 'TypeScript 6: createSourceFile',
      run: () => {
        for (const { path, text } of files) ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
      },
    },
  ];
  const samples = await measure(subjects, { rounds, progress });
  parser.close();
  const cpu = samples.map((each) => median(each.map(({ cpuMs }) => cpuMs)));
  const [bareMs, ours, compiler] = cpu as [number, number, number];
  const rows = subjects.map(({ name }, index) => [
    name,
    figure((files.length / cpu[index]!) * 1000),
    figure(characters / 1000 / cpu[index]!),
    figure(cpu[index]! / ours),
  ]);
  const figures = { files: files.length, characters, bare: bareMs, ours, compiler };
  const said = `${files.length.toLocaleString('en-US')} files of telltale/src, ${figure(characters / 1e6)} MB, on one thread; CPU time, medians of ${rounds}.`;
  return {
    text: `${said}\n\n${table(['', 'files/s', 'MB/s', 'time ÷ ours'], rows)}`,
    figures,
    verdicts: judgeParsing(figures),
  };
};

async function bareParser(): Promise<(text: string) => void> {
  const { Parser, tables } = await loadGrammar(await loadEngine(), TYPESCRIPT);
  const parser = new Parser().setLanguage(tables);
  return (text) => parser.parse(text)?.delete();
}
