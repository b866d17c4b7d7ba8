import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm, readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { startPortal, cpuSeconds } from './support/processes.ts';
import { account, makeWorkload, writeConfig } from './support/workload.ts';
import { fileURLToPath } from 'node:url';
const n = Number(process.argv[2] ?? 500), prof = process.argv[3] ?? '';
const w = await makeWorkload(n);
const out = '/tmp/lead/prof'; await rm(out, { recursive: true, force: true });
const pf = (name: string) => prof.includes(name) ? ['--cpu-prof', `--cpu-prof-dir=${out}/${name}`] : [];
const portal = await startPortal(join(w.folder, 'portal'), w.users, ['--max-semi-space-size=4', ...pf('portal')]);
import { Redis } from 'ioredis';
const rs = spawn('/tmp/lead/deb/bin/redis-server', ['--port','0','--unixsocket','/tmp/lead/r.sock','--appendonly','yes','--appendfsync','everysec','--dir',w.folder,'--save','','--maxmemory-policy','noeviction'],{stdio:'ignore'});
await new Promise((r)=>setTimeout(r,300));
const cli = new Redis('/tmp/lead/r.sock');
try {
  const c0 = portal.cpu();
  const config = await writeConfig(w, portal.url, 8);
  const child = spawn(process.execPath, ['--max-semi-space-size=16', ...(prof.includes('count')?['--import','/tmp/lead/m/bench/count.mjs']:[]), ...pf('worker'), fileURLToPath(new URL('../src/cli.ts', import.meta.url)), 'publish', w.manifest, '--config', config, '--state', join(w.folder, 'state'), '--json'], { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, BENCH_PASSWORD: account.password, REDIS_URL: 'unix:///tmp/lead/r.sock' } });
  let text = ''; child.stdout.setEncoding('utf8').on('data', (t) => { text += t; });
  let cpu = 0, redis = 0, hwm = 0;
  const t = setInterval(async () => {
    cpu = Math.max(cpu, cpuSeconds(child.pid));
    try { const s = await readFile(`/proc/${child.pid}/status`, 'utf8'); hwm = Number(/VmHWM:\s+(\d+)/.exec(s)?.[1]) / 1000; } catch {}
    try { for (const f of await readdir(join(w.folder, 'state'))) if (f.includes('pid') ) { const p = /\d+/.exec(await readFile(join(w.folder, 'state', f), 'utf8')); if (p) redis = Math.max(redis, cpuSeconds(Number(p[0]))); } } catch {}
  }, 100);
  await once(child, 'close'); clearInterval(t);
  const r = JSON.parse(text);
  redis = cpuSeconds(rs.pid);
  const st = (await cli.info('commandstats')).split('\n').filter((l)=>l.startsWith('cmdstat')).map((l)=>{const m=/cmdstat_(\S+?):calls=(\d+),usec=(\d+)/.exec(l)!;return [m[1],Number(m[2])/n,Number(m[3])/n] as const}).sort((a,b)=>b[1]-a[1]).slice(0,28);
  console.log(st.map(([a,b,c])=>`${a} ${b.toFixed(1)} (${c.toFixed(0)}us)`).join(', '));
  const s = (Date.parse(r.endedAt) - Date.parse(r.startedAt)) / 1000;
  console.log(`${n} files ${s.toFixed(2)} s ${(n / s).toFixed(1)}/s  worker cpu ${(cpu / n * 1000).toFixed(2)} ms/file (hwm ${hwm.toFixed(0)} MB)  portal ${((portal.cpu() - c0) / n * 1000).toFixed(2)}  redis ${(redis / n * 1000).toFixed(2)}`, JSON.stringify(r.counts));
} finally { cli.disconnect(); rs.kill(); await portal.stop(); await rm(w.folder, { recursive: true, force: true }); }
