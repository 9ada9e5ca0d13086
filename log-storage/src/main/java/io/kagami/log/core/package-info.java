/** What a log decides without touching a disk: batch headers, leader epochs, producers and open transactions. */
package io.kagami.log.core;
