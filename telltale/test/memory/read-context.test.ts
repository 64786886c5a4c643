import { describe, expect, it } from 'vitest';
import { readContext } from '../../src/memory/index/resolve/read-context.ts';

const read = (files: Readonly<Record<string, unknown>>) =>
  readContext(
    Object.entries(files).map(([path, text]) => ({
      path,
      text: typeof text === 'string' ? text : JSON.stringify(text),
    })),
  );

describe('packages', () => {
  it('are known by name, the first of one name, with how they are entered', () => {
    const { packages } = read({
      'package.json': {
        name: 'root',
        main: './m.js',
        module: './e.js',
        types: './t.d.ts',
        imports: { '#x': './x.js' },
      },
      'a/package.json': { name: 'a', types: './t.d.ts', exports: { '.': './i.js' } },
      'b/package.json': { name: 'a', main: 'other' },
      'c/package.json': { main: 'nameless' },
      'd/package.json': 'no json',
      'e/package.json': { name: 'e', main: 5, module: null },
    });
    expect([...packages]).toEqual([
      ['root', { folder: '', main: './e.js', imports: { '#x': './x.js' } }],
      ['a', { folder: 'a', main: './t.d.ts', exports: { '.': './i.js' } }],
      ['e', { folder: 'e' }],
    ]);
  });
});

describe('modules of Go and crates of Rust', () => {
  it('are found in their manifests, the longest path first, by the name that code has for them', () => {
    const { goModules, crates } = read({
      'go.mod': '// module no\nmodule example.com/a\n\ngo 1.22\n',
      'sub/go.mod': 'module "example.com/a/sub"\n',
      'none/go.mod': 'go 1.22\n',
      'Cargo.toml': '[workspace]\nname = "no"\n',
      'x/Cargo.toml':
        '# [package]\n[package]\nversion = "1"\nname = "my-crate"\n\n[dependencies]\nname = "no"\n',
      'y/Cargo.toml': '[dependencies]\nname = "no"\n',
    });
    expect(goModules).toEqual([
      { module: 'example.com/a/sub', folder: 'sub' },
      { module: 'example.com/a', folder: '' },
    ]);
    expect([...crates]).toEqual([['my_crate', 'x']]);
  });
});

describe('paths of a tsconfig', () => {
  it('are relative to where it stands, the most exact first, and the deepest tsconfig is asked first', () => {
    const { configs } = read({
      'tsconfig.json': {
        compilerOptions: { paths: { '*': ['lib/*'], '@app/*': ['app/*', 5], '@app/x': ['x.ts'], odd: 'x' } },
      },
      'deep/er/jsconfig.json': { compilerOptions: { baseUrl: './src', paths: { a: ['b'] } } },
      'deep/plain/tsconfig.json': { compilerOptions: { strict: true } },
      'tsconfig.base.json': { compilerOptions: { baseUrl: '.' } },
    });
    expect(configs).toEqual([
      { folder: 'deep/er', baseUrl: 'deep/er/src', paths: [['a', ['deep/er/src/b']]] },
      {
        folder: '',
        paths: [
          ['@app/x', ['x.ts']],
          ['odd', []],
          ['@app/*', ['app/*']],
          ['*', ['lib/*']],
        ],
      },
    ]);
  });

  it('may be those of one that it extends, the last of several, however it is written', () => {
    const { configs } = read({
      'base.json': { compilerOptions: { baseUrl: './b', paths: { x: ['y'] } } },
      'one/tsconfig.json': { extends: '../base' },
      'two/deep/tsconfig.json': { extends: ['../../none.json', '../../base.json', 'some-package'] },
      'loop/tsconfig.json': { extends: './tsconfig.json' },
      'out/tsconfig.json': { extends: '../../outside.json' },
    });
    expect(configs).toEqual([
      { folder: 'two/deep', baseUrl: 'b', paths: [['x', ['b/y']]] },
      { folder: 'one', baseUrl: 'b', paths: [['x', ['b/y']]] },
    ]);
  });

  it('are read past comments, commas and a byte order mark, and texts are left as they are', () => {
    const { configs } = read({
      'tsconfig.json': `\ufeff{
        // a comment
        "compilerOptions": { /* and
          another */ "paths": { "a//b": ["c/*d*/",], "": [ "e, ]" , ], "q\\"": ["f",] }, },
      }`,
    });
    expect(configs[0]?.paths).toEqual([
      ['a//b', ['c/*d*']],
      ['', ['e, ]']],
      ['q"', ['f']],
    ]);
    expect(read({ 'tsconfig.json': '{ "compilerOptions": /* never ends' }).configs).toEqual([]);
  });
});
