import ts from 'typescript';

/** What an entry's declarations export: the names of values, and a line for each name with its kind in front. */
export interface ExportedNames {
  readonly values: readonly string[];
  readonly lines: readonly string[];
}

/** Reads declaration files with the compiler, each an entry. What is exported for the compiler alone is a `type`. */
export function exportedNames(files: readonly string[]): readonly ExportedNames[] {
  const program = ts.createProgram([...files], {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    noEmit: true,
  });
  return files.map((file) => namesOf(file, program));
}

function namesOf(file: string, program: ts.Program): ExportedNames {
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(file);
  const entry = source === undefined ? undefined : checker.getSymbolAtLocation(source);
  if (entry === undefined) throw new Error(`${file} is no module.`);
  const atRunTime = checker.getTypeOfSymbol(entry);
  const kindOf = (symbol: ts.Symbol): string => {
    if (atRunTime.getProperty(symbol.name) === undefined) return 'type';
    const { flags } = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
    if (flags & ts.SymbolFlags.Class) return 'class';
    return flags & ts.SymbolFlags.Function ? 'function' : 'const';
  };
  const exported = checker
    .getExportsOfModule(entry)
    .map((symbol) => ({ name: symbol.name, kind: kindOf(symbol) }));
  return {
    values: exported
      .filter(({ kind }) => kind !== 'type')
      .map(({ name }) => name)
      .sort(),
    lines: exported.map(({ name, kind }) => `${kind} ${name}`).sort(),
  };
}
