// Plain JavaScript that Node 18 can run.
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/**
 * In place of zod's `locales/index.js`, which loads its messages in all languages, a module each: a twentieth of the
 * time of a one-turn run. Each is loaded when it is called, by whoever uses zod in this process.
 */
const folder = new URL(import.meta.url).searchParams.get('folder') ?? '';
const require = createRequire(import.meta.url);

/** @param {string} language */
const later =
  (language) =>
  /** @param {unknown[]} given */
  (...given) =>
    require(fileURLToPath(new URL(`${language}.js`, folder))).default(...given);

export const ar = later('ar');
export const az = later('az');
export const be = later('be');
export const bg = later('bg');
export const bn = later('bn');
export const ca = later('ca');
export const ckb = later('ckb');
export const cs = later('cs');
export const da = later('da');
export const de = later('de');
export const el = later('el');
export const en = later('en');
export const eo = later('eo');
export const es = later('es');
export const fa = later('fa');
export const fi = later('fi');
export const fr = later('fr');
export const frCA = later('fr-CA');
export const gu = later('gu');
export const he = later('he');
export const hi = later('hi');
export const hr = later('hr');
export const hu = later('hu');
export const hy = later('hy');
export const id = later('id');
export const is = later('is');
export const it = later('it');
export const ja = later('ja');
export const ka = later('ka');
export const kh = later('kh');
export const km = later('km');
export const kn = later('kn');
export const ko = later('ko');
export const lt = later('lt');
export const mk = later('mk');
export const ms = later('ms');
export const ne = later('ne');
export const nl = later('nl');
export const nn = later('nn');
export const no = later('no');
export const ota = later('ota');
export const ps = later('ps');
export const pl = later('pl');
export const pt = later('pt');
export const ptBR = later('pt-BR');
export const ro = later('ro');
export const ru = later('ru');
export const sk = later('sk');
export const sl = later('sl');
export const sv = later('sv');
export const ta = later('ta');
export const tg = later('tg');
export const th = later('th');
export const tk = later('tk');
export const tr = later('tr');
export const ua = later('ua');
export const uk = later('uk');
export const ur = later('ur');
export const uz = later('uz');
export const vi = later('vi');
export const zhCN = later('zh-CN');
export const zhTW = later('zh-TW');
export const yo = later('yo');
