/** What the log needs of a file system, so that a test can crash it; and small files replaced atomically. */
package io.kagami.log.disk;
