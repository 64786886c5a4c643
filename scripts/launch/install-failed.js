import { SetupFailure } from './setup-failure.js';

/**
 * What a failed `npm ci` means, as far as its output tells, and how to mend it.
 * @param {number} code
 * @param {string} output
 */
export function installFailed(code, output) {
  const [what, mend] = DIAGNOSES.find(([sign]) => sign.test(output))?.slice(1) ?? [
    `npm ci failed with exit code ${code}.`,
    'Its output is above. Once that is mended: npm ci',
  ];
  return new SetupFailure({ what: String(what), mend: String(mend), output });
}

/** @type {readonly (readonly [sign: RegExp, what: string, mend: string])[]} */
const DIAGNOSES = [
  [
    /ENOSPC|EDQUOT/,
    'The disk is full: npm ci could not finish.',
    'Free about 1 GB (df -h shows where), then: npm ci',
  ],
  [
    /EROFS|EACCES|EPERM/,
    'npm ci may not write here.',
    'Use a clone of your own in a folder you may write to, and look at the path above; then: npm ci',
  ],
  [
    /EUSAGE|EJSONPARSE|in sync|JSON\.parse/,
    'package-lock.json does not fit package.json, or cannot be read.',
    'If the change is not meant: git checkout package-lock.json package.json\nIf it is: npm install',
  ],
  [
    /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ERR_SOCKET_TIMEOUT/,
    'npm ci could not reach the package registry.',
    'Look at the network (npm ping), then: npm ci',
  ],
];
