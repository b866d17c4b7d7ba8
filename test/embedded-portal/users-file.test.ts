import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { hashPassword } from '../../src/embedded-portal/password.ts';
import { readUsersFile } from '../../src/embedded-portal/users-file.ts';
import { tempDir } from '../support/temp-dir.ts';

const write = (text: string, mode = 0o600): string => {
  const path = join(tempDir(), 'users.yaml');
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
};

describe('users file', () => {
  it('holds names, passwords and roles by their recorded names', () => {
    const path = write('users:\n  - { name: ann, password: pw, roles: [content creator], mail: ann@example.org }\n');
    expect(readUsersFile(path)).toEqual([
      { name: 'ann', password: 'pw', roles: ['content creator'], mail: 'ann@example.org' },
    ]);
  });

  it('with plain passwords must not be readable by others', () => {
    const path = write('users: [{ name: ann, password: pw }]', 0o644);
    expect(() => readUsersFile(path)).toThrow(
      expect.objectContaining({ code: 'users-file', hint: `run: chmod 600 ${path}` }),
    );
  });

  it('with hashed passwords may be readable', async () => {
    const path = write(`users: [{ name: ann, password: "${await hashPassword('pw')}" }]`, 0o644);
    expect(readUsersFile(path)).toHaveLength(1);
  });

  it.each([
    ['users: []', /users/],
    ['users: [{ name: ann }]', /users\.0\.password/],
    ['users: [{ name: ann, password: pw, roles: [king] }]', /users\.0\.roles\.0/],
    ['users: [{ name: ann, password: pw, admin: true }]', /admin/],
    ['users: [{ name: ann, password: a }, { name: Ann, password: b }]', /names ann twice/],
    ['users: [', /cannot be read/],
  ])('%s is refused, saying where', (text, message) => {
    expect(() => readUsersFile(write(text))).toThrow(message);
  });
});
