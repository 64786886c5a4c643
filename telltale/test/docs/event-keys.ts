import { fileURLToPath } from 'node:url';
import ts from 'typescript';

/** The keys of each type of event, with `?` behind those that may be absent, as the sources declare them. */
export function eventKeys(
  file: 'event' | 'run-event',
  union: string,
): ReadonlyMap<string, readonly string[]> {
  const path = fileURLToPath(new URL(`../../src/log/${file}.ts`, import.meta.url));
  // Without the library's own types: nothing of them has keys that an event has, and they take a second to read.
  const program = ts.createProgram([path], { noLib: true, noEmit: true, allowImportingTsExtensions: true });
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(path);
  const module = source && checker.getSymbolAtLocation(source);
  const symbol = module && checker.getExportsOfModule(module).find(({ name }) => name === union);
  const type = symbol && checker.getDeclaredTypeOfSymbol(symbol);
  if (type === undefined || !type.isUnion()) throw new Error(`${file}.ts exports no union ${union}.`);
  return new Map(
    type.types.map((member) => {
      const properties = checker.getPropertiesOfType(member);
      const tag = properties.find(({ name }) => name === 'type');
      const told = tag && checker.getTypeOfSymbol(tag);
      if (told === undefined || !told.isStringLiteral()) throw new Error('An event has no type.');
      const keys = properties
        .filter(({ name }) => name !== 'type')
        .map(({ name, flags }) => (flags & ts.SymbolFlags.Optional ? `${name}?` : name));
      return [told.value, keys];
    }),
  );
}
