import type { ParsedFile } from '../../src/memory/memory.ts';

/**
 * What was read of a file, one line each: `3-5 method Store.load +` (`+`: exported), `./a.ts: run, *`,
 * `12 fs.read < Store.load` (`<`: the symbol it stands in).
 */
export function said({ symbols, imports, calls }: ParsedFile) {
  const path = (index: number): string => {
    const { name, container } = symbols[index]!;
    return container === undefined ? name : `${path(container)}.${name}`;
  };
  return {
    symbols: symbols.map(
      ({ line, endLine, kind, exported }, index) =>
        `${line}-${endLine} ${kind} ${path(index)}${exported ? ' +' : ''}`,
    ),
    imports: imports.map(
      ({ line, specifier, names, reexport }) =>
        `${line} ${reexport ? 'export ' : ''}${specifier}: ${names.join(', ')}`,
    ),
    calls: calls.map(
      ({ line, name, receiver, from }) =>
        `${line} ${receiver === undefined ? '' : `${receiver}.`}${name}${from === undefined ? '' : ` < ${path(from)}`}`,
    ),
  };
}
